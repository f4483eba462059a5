"""What the controller decides, as values: `machine.handle(cluster, event, settings) -> Plan`. Pure.

    plan.py                   the form of a decision: steps and their outcomes
    notes.py                  what it has to say to the log
    batch.py                  the requests of one step, merged
    steps.py                  what it may ask for of brokers, events, logs
    znode_steps.py            what it may ask of ZooKeeper
    settings.py               the settings that it depends on
    leaderships.py            leaders and in-sync sets, written if nobody else wrote
    legal_moves.py            who may move to a state
    partition_moves.py        the partition state machine
    replica_moves.py          the replica state machine
    topic_changes.py          topics that appear, grow or vanish
    deletion.py               topics being deleted
    reassignment_requests.py  which reassignments are refused
    reassignment.py           partitions moved to other brokers
    preferred_leaders.py      elections that are asked for
    isr_changes.py            in-sync sets changed by leaders
    broker_changes.py         brokers that come, go or change
    controlled_shutdown.py    brokers that ask leave to go down
    log_dir_failures.py       replicas on failed disks
    failover.py               the first acts of a new controller
    machine.py                the table: event -> plan

Not obvious: a plan changes the controller context as it proceeds, and only one plan is carried out at a time; the
context is therefore what ZooKeeper holds plus what the plan has written so far.
"""
