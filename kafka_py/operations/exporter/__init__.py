"""A whole cluster for Prometheus, under the names of kafka_exporter: brokers, topics, partitions, groups and their lag.

    names.py    the table of families
    samples.py  the samples of one look at a cluster
    watch.py    looks at a cluster at intervals, and has their text
"""
