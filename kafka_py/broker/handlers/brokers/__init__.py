"""Handlers of what the controller and other brokers send: one file per API."""
