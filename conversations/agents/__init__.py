"""Models that work: tools that they call, and a planner that hands tasks to an executor."""
