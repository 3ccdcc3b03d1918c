"""Carries out the tool calls of models, and runs agents: a planner that delegates tasks to an executor."""
