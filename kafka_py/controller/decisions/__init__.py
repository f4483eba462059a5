"""The controller's decisions as values: `machine.handle(cluster, event, settings) -> Plan`. Pure.

    plan.py                   the form of a decision: steps and their outcomes
    notes.py                  log lines of a decision
    batch.py                  the requests of one step, merged
    steps.py                  steps for brokers, events, logs and metrics
    znode_steps.py            steps that read or write ZooKeeper
    settings.py               the settings that decisions depend on
    leaderships.py            conditional writes of leaders and in-sync sets
    legal_moves.py            which partitions or replicas may move to a state
    partition_moves.py        the partition state machine
    replica_moves.py          the replica state machine
    topic_changes.py          topics created, extended or removed
    deletion.py               topic deletion
    reassignment_requests.py  which reassignments are refused
    reassignment.py           partition reassignment
    preferred_leaders.py      requested and preferred leader elections
    isr_changes.py            in-sync sets changed by leaders
    broker_changes.py         brokers that start, stop or change
    controlled_shutdown.py    controlled shutdown of a broker
    log_dir_failures.py       replicas in failed log directories
    failover.py               the steps of a new controller
    machine.py                the table: event -> plan

Not obvious: a plan changes the controller context as it proceeds, and only one plan is carried out at a time; so the
context equals the state in ZooKeeper, including the writes of the plan so far.
"""
