"""Begins, runs, stops and recovers a conversation's turns; also keeps versions of messages and makes forks."""
