"""ZooKeeper: the shared state of the cluster. The only package that imports a ZooKeeper client.

In reading order: session.py (the protocol that every other file uses: requests, watches, states, errors),
znodes.py (the znode table: every path and the JSON in it; config_znodes.py has those of settings, acl_znodes.py those
of ACLs, schema.py reads the declarations), store.py (typed reads and writes; its parts are brokers.py, election.py,
topics.py, partitions.py, entity_configs.py, notifications.py, consumers.py, acls.py, tokens.py and admin.py, which use
access.py), configs.py (settings), metrics.py, lifecycle.py and watches.py (shared by all kinds of sessions),
kazoo_session.py over kazoo_connection.py, kazoo_bridge.py and requests.py (the real session).

Not obvious: the session object replaces an expired session itself, but the hooks must set watches and registrations
again. A loss of the connection within one session is not visible to callers: requests wait and are resent, watches are
set again, and missed changes fire.
"""
