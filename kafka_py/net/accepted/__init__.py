"""Accepted connections before their first request is read, and those that are read no longer.

    first_reads.py   begins to read them, in turn of their addresses
    turned_away.py   keeps those of an address that connects too fast unread, until they are closed
    idle.py          closes those without traffic
"""
