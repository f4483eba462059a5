"""Stand-ins in memory: files that forget, scripted brokers and groups, logs and replicas without a network."""
