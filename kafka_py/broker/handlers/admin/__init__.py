"""Handlers of what administrators send, and of what every client asks first: one file per API."""
