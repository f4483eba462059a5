"""The metadata cache, and operations that wait for its updates.

    metadata_cache.py  brokers, partitions, leaders, topic ids, controller
    topic_waits.py     waiting until a topic is created or deleted
    election_waits.py  waiting until elected leaders are in the cache
"""
