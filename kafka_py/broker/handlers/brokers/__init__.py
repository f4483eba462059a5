"""Handlers of requests of the controller and other brokers: one file per API."""
