"""The consumer: partitions in, records out, in the order of their offsets.

In reading order: consumer.py (the blocking face), async_consumer.py (the consumer itself), subscriptions.py (what is
read, and how far), fetcher.py (fetches under way, answers held), fetched.py (one answer, decoded on demand),
fetch_sessions.py (KIP-227), offsets.py (look-ups by time), records.py (what poll returns), configs.py (its settings).
Not obvious: the position the application sees and the offset to fetch next are two numbers; the second runs ahead.
"""
