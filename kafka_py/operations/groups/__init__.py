"""Consumer groups: where a reset takes them.

    resetting.py  where each scenario of a reset takes a group
"""
