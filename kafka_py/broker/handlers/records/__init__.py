"""Handlers of requests of producers, consumers and followers: one file per API.

old_readers.py belongs to fetch.py: what a fetch of an old version gets.
"""
