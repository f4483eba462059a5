"""Transactions: which partitions a transactional producer writes to, and how all of them learn of its decision.

markers.py (the end of a transaction on its way to the partitions), marker_queues.py (which markers wait for which
broker), marker_messages.py (as WriteTxnMarkers says them), marker_channels.py (connections to the brokers).
"""
