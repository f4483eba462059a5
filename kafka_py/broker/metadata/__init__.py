"""The metadata cache, and operations that wait for its updates.

    metadata_cache.py  brokers, partitions, leaders, topic ids, controller
    cache_waits.py     waiting until the cache has what a request waits for, in turns
    topic_waits.py     waiting until a topic is created or deleted
    election_waits.py  waiting until elected leaders are in the cache
"""
