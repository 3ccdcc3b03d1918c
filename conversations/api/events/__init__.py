"""A conversation's events for programs: server-sent, resumed after a cursor."""
