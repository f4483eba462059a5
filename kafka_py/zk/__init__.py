"""ZooKeeper: what the cluster agrees on, and the only package that imports a ZooKeeper client.

In reading order: session.py (the protocol every other file is written against: requests, watches, states, errors),
znodes.py (the znode table: every path and the JSON in it; config_znodes.py has those of settings, schema.py reads the
declarations), store.py (typed reads and writes; its parts are brokers.py, election.py, topics.py, partitions.py,
entity_configs.py, notifications.py, consumers.py and admin.py, which rest on access.py), configs.py (settings),
metrics.py (what is counted), lifecycle.py and watches.py (what every kind of session shares), kazoo_session.py over
kazoo_connection.py, kazoo_bridge.py and requests.py (the real session).

Not obvious: a session that expires is replaced by the session object itself, but nothing is watched or registered
again: the hooks do that. A mere loss of the connection within one session is invisible here: requests wait and are
sent again, watches are armed again and missed changes fire.
"""
