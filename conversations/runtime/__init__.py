"""What everything stands on: the queue of work, events and their relay, metrics, log context, compiled queries."""
