"""Handlers of what group members and administrators of groups send: one file per API."""
