"""Handlers of requests of producers, consumers and followers: one file per API."""
