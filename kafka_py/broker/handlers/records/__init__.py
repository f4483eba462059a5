"""Handlers of what producers, consumers and followers send: one file per API."""
