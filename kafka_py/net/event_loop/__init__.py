"""The event loop of a broker.

In reading order: loop.py (the loop, how long it ever kept others waiting, and what becomes ready first), turns.py (how
long work that has further pieces continues in one of its turns).
"""
