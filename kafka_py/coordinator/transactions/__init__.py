"""Transactions: which partitions a transactional producer writes to, and how all of them learn of its decision.

In reading order, what decides (pure; `machine.handle(transaction, event, moment) -> TransactionOutcome`): states.py
(the eight states), transaction.py (the values), requests.py (what happens to an id), outcome.py (what follows),
machine.py (the door to all decisions).

What does it: records.py (the durable form), replay.py (a partition read back), store.py (where ids are kept), driver.py
(records, markers, answers), coordinator.py (what handlers and the clock call).

markers.py (the end of a transaction on its way to the partitions), marker_queues.py (which markers wait for which
broker), marker_messages.py (as WriteTxnMarkers says them), marker_channels.py (connections to the brokers).
"""
