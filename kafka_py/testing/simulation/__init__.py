"""Whole clusters in one process on simulated time, network, disks and ZooKeeper, repeatable from a seed.

    nodes.py       a loop on which nodes are killed and paused
    network.py     links that delay, hold back and break
    cluster.py     real brokers as nodes
    znodes.py      what is in ZooKeeper
    history.py     what really happened
    workload.py    producers whose acknowledgements are remembered
    reader.py      a consumer that remembers what it saw
    group.py       members that commit
    operations.py  what an administrator does
    power.py       what a power failure takes
    schedule.py    what goes wrong, drawn from a seed
    scenario.py    which of all this a seed has
    watch.py       what must hold at every moment
    transactions.py  workers that read, write and commit in transactions
    invariants.py  what must hold in the end
    run.py         one schedule from start to verdict
    __main__.py    python -m kafka_py.testing.simulation

Not obvious: callbacks know their node by a context variable, so code of the broker runs unchanged. A killed node's
callbacks are dropped and nothing of it is closed, as kill -9 leaves it. Runs repeat exactly because brokers and clients
are handed their time and their chance, and because no set's order decides anything.
"""
