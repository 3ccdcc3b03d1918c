"""The ground of all rooms: task queue, events and their relay, metrics, log context, compiled queries."""
