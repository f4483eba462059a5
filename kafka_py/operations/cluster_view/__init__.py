"""One look at a cluster as plain frozen values, whatever broker from Kafka 0.11 on answers.

    snapshot.py    the values, with what could not be seen
    derived.py     what follows from them: lag, counts per broker
    asking.py      requests in bounded parallel
    brokers.py     the API versions of each broker
    log_dirs.py    the log directories of each broker
    offsets.py     the first and the end offset of each partition
    groups.py      groups with members and committed offsets
    look.py        look_at: all parts, or those wanted
    activity.py    rates of brokers, topics and groups, from two looks

Not obvious: nothing here raises because a broker does not answer, is too old or refuses: the snapshot names each such
failure, and has the rest. The order of parts decides nothing: they are asked for at the same time, after the metadata.
"""
