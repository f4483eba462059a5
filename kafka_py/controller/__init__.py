"""The controller: the one broker that decides who leads what, and tells the others.

    model/                what a controller knows, and decisions over it
    configs.py            the settings of the controller and of topic creation
    events.py             what can happen, and the queue
    event_handlers.py     the table: event -> what is done
    controller.py         election, the worker of the queue, the calls
    term.py               what an active controller holds
    failover.py           the first acts of a new controller
    watches.py            ZooKeeper's watches turned into events
    topic_changes.py      topics that appear, grow or vanish
    broker_changes.py     brokers that come, go or change
    isr_changes.py        in-sync sets changed by leaders
    deletion.py           topics being deleted
    preferred_leaders.py  elections that are asked for
    reassignment.py       partitions moved to other brokers
    transitions.py        moves of partitions and replicas carried out
    leaderships.py        leaders and in-sync sets in ZooKeeper
    batch.py              the requests of one step, merged
    channels.py           requests sent to each broker, in order
    state_changes.py      the log of what moved
    topic_names.py        what a topic may be called
    topic_policy.py       a site's own rules (KIP-108)
    topics.py             topics made, extended and marked for deletion
    metrics.py            what the controller measures

Not obvious: an event is processed to its end before the next one begins, though it awaits ZooKeeper on the way, so
only that one task may change the cluster. A write that is fenced off (ControllerMoved) ends the term wherever it
happens. Brokers, this one included, are told over the wire only.
"""
