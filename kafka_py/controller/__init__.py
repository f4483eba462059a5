"""The controller: the one broker that decides who leads what, and tells the others.

    model/                what a controller knows, and decisions over it
    configs.py            the settings of the controller and of topic creation
    events.py             what can happen
    decisions/            what follows from each event, as plans
    controller.py         election, the worker of the queue, the calls
    event_queue.py        events wait for their turn
    executor.py           carries out plans for one term of office
    znode_work.py         what plans ask of ZooKeeper, done
    watches.py            ZooKeeper's watches turned into events
    channels.py           requests sent to each broker, in order
    state_changes.py      the log of what moved
    topic_names.py        what a topic may be called
    topic_policy.py       a site's own rules (KIP-108)
    metrics.py            what the controller measures

Not obvious: the plan of an event is carried out to its end before the next one begins, though it waits for ZooKeeper
on the way, so only that one task may change the cluster. A write that is fenced off (ControllerMoved) ends the term
wherever it happens. Brokers, this one included, are told over the wire only.
"""
