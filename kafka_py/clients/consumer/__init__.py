"""The consumer: partitions in, records out, in the order of their offsets; alone, or sharing topics with a group.

In reading order: consumer.py (the blocking face), calling_thread.py (how it calls back), async_consumer.py (the calls),
core.py (its parts put together, and poll), subscriptions.py (what is read, and how far), positions.py (where to begin),
lookups.py and offsets.py (offsets by time, the ends); fetcher.py (fetches under way), fetch_plan.py (which partition
from which broker), held.py (answers held), fetched.py (one answer, decoded on demand), fetch_sessions.py (KIP-227),
validation.py (KIP-320), fetch_counts.py; records.py (what poll returns), interceptors.py.
The group: membership.py (its parts tied together), coordinator.py (who coordinates it), group.py (join, sync, leave),
heartbeats.py, rebalance.py and listener.py (what that means for partitions), assignors/ (who gets what), protocol.py
(what members tell each other), committer.py (when to commit), commits.py (commits and look-ups).
Tables: configs.py, metrics.py.

Not obvious: the position the application sees and the offset to fetch next are two numbers; the second runs ahead.
A join goes on in the background, but partitions only change inside poll(), where the application can be told.
"""
