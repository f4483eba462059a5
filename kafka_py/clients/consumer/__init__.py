"""The consumer: partitions in, records out, in the order of their offsets; alone, or sharing topics with a group.

    configs.py         the settings of the consumer
    consumer.py        Consumer, for blocking code
    calling_thread.py  callbacks in the thread that calls
    async_consumer.py  the calls, for asyncio
    core.py            the parts put together, poll, wakeup, close
    subscriptions.py   which partitions are read, and how far
    positions.py       positions that are missing, found
    lookups.py         what may be asked about any topic
    offsets.py         offsets by time, and the two ends
    validation.py      positions after a change of leader (KIP-320)
    fetching/          records on their way in
    delivery.py        records between fetcher and application
    interceptors.py    the application's code that sees records and commits
    membership.py      what a consumer with a group has besides
    coordinator.py     finds the group's coordinator, and asks it
    group.py           join, sync, leave
    heartbeats.py      keeps a member alive
    joining.py         what a join is made with, and assigned
    rebalance.py       what joining means for partitions
    listener.py        how the application hears of partitions
    assignors/         who of a group reads which partitions
    protocol.py        what members send each other
    committer.py       when offsets are committed
    commits.py         offsets stored with the coordinator, and fetched
    metrics.py         what a consumer counts

Not obvious: the position the application sees and the offset to fetch next are two numbers; the second runs ahead.
A join goes on in the background, but partitions only change inside poll(), where the application can be told.
"""
