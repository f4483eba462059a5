"""Handlers of requests of group members and of group administration: one file per API."""
