"""The controller: the one broker that elects partition leaders, manages topics, and notifies the other brokers.

    model/                the controller context, and decisions over it
    configs.py            the settings of the controller and of topic creation
    events.py             the events of the controller
    decisions/            what follows from each event, as plans
    controller.py         controller election, the event loop, the calls
    event_queue.py        the queue of events
    executor.py           carries out plans during one controller epoch
    znode_work.py         carries out the steps for ZooKeeper
    watches.py            turns ZooKeeper watches into events
    channels.py           sends requests to each broker, in order
    state_changes.py      the state change log
    topic_names.py        valid and colliding topic names
    assignment_checks.py  checks of assigned replicas
    topic_policy.py       create.topic.policy.class.name (KIP-108)
    metrics.py            the controller's metrics

Not obvious: the plan of an event is carried out to its end before the next event is processed, although it waits for
ZooKeeper on the way; so only that one task changes the context. A write that is fenced (ControllerMoved) makes the
controller resign, wherever it happens. All brokers, this one included, are notified by requests over the network.
"""
