"""The controller: the one broker that decides who leads what, and tells the others.

Pure, in reading order: elections.py (who leads), placement.py (where replicas go), topic_names.py, cluster.py (all that
is known), partition_states.py and replica_states.py (the legal moves), batch.py (the requests of one step), configs.py,
metrics.py.

Not pure: events.py (what can happen, with futures for the outcomes, and the queue).

With I/O: controller.py (election, the worker of the queue, what the broker calls), term.py (what an active controller
holds), failover.py (the first acts of one), then what it does about events: topic_changes.py, broker_changes.py,
isr_changes.py, deletion.py, leader_balance.py, reassignment.py. They move partitions and replicas through
transitions.py, which reads and writes leaders through leaderships.py; state_changes.py logs what moved; channels.py
sends; watches.py turns ZooKeeper's watches into events. topics.py and topic_policy.py are for every broker: how topics
are made, extended and marked for deletion.

Not obvious: an event is processed to its end before the next one begins, though it awaits ZooKeeper on the way, so
only that one task may change the cluster. A write that is fenced off (ControllerMoved) ends the term wherever it
happens. Brokers, this one included, are told over the wire only.
"""
