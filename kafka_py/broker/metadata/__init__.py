"""What this broker knows of the cluster, and who waits until it knows more.

    metadata_cache.py  brokers, partitions, leaders, topic ids, controller
    topic_waits.py     waiting until a topic is there or gone
    election_waits.py  waiting until elected leaders are known
"""
