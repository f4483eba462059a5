"""Transactions: which partitions a transactional producer writes to, and how all of them learn of its decision.

markers.py (the end of a transaction on its way to the partitions).
"""
