"""The consumer: reads the records of partitions in the order of their offsets, alone or as a member of a group.

    configs.py         the settings of the consumer
    consumer.py        Consumer, for blocking code
    calling_thread.py  runs callbacks in the thread that calls
    async_consumer.py  AsyncConsumer, for asyncio
    core.py            the parts put together: start, deliver, wakeup, close
    subscriptions.py   which partitions are read, and their positions
    positions.py       looks up missing positions
    lookups.py         queries about any topic
    offsets.py         ListOffsets: offsets by timestamp
    validation.py      checks positions after a change of leader (KIP-320)
    fetching/          fetches, and fetched records
    delivery.py        records between fetcher and application
    interceptors.py    the application's code that sees records and commits
    membership.py      the parts of a consumer that has a group
    group.py           join, sync, leave
    heartbeats.py      keeps a member alive
    joining.py         the contents of a join, and the leader's assignment
    rebalance.py       what a rebalance means for partitions
    listener.py        rebalance listeners of the application
    assignors/         which member of a group reads which partitions
    protocol.py        what members send each other
    committer.py       when offsets are committed
    commits.py         OffsetCommit and OffsetFetch
    metrics.py         the consumer's metrics

Not obvious: the position that the application sees and the offset to fetch next are two numbers; the second is ahead.
A join continues in the background, but partitions only change inside poll(), where listeners can be called.
"""
