"""ZooKeeper: the shared state of the cluster. The only package that imports a ZooKeeper client.

    session.py           the protocol that every other file uses
    znodes.py            the znode table: paths and JSON
    config_znodes.py     the znodes of settings
    acl_znodes.py        the znodes of ACLs
    schema.py            reads the declarations of znodes
    store.py             all typed reads and writes together
    access.py            fenced, recursive and bulk access by path
    brokers.py           registrations, broker and cluster ids
    election.py          the controller role
    topics.py            assignments, creation, deletion
    partitions.py        leaders and in-sync sets
    entity_configs.py    overrides of settings
    notifications.py     sequential notifications and their listener
    consumers.py         offsets of old consumers
    acls.py              entries of ACLs
    tokens.py            delegation tokens
    admin.py             requests of old tools, producer ids, features
    configs.py           settings and the connect string
    metrics.py           metrics of a session
    lifecycle.py         states and renewal, of all kinds of sessions
    watches.py           one-shot watches, of all kinds of sessions
    kazoo_session.py     the real session
    kazoo_connection.py  its part on kazoo's thread
    kazoo_bridge.py      sockets and wake-ups between the two
    requests.py          the requests on the wire
    secured/             TLS, login and access lists of a session

Not obvious: the session object replaces an expired session itself, but the hooks must set watches and registrations
again. A loss of the connection within one session is not visible to callers: requests wait and are resent, watches are
set again, and missed changes fire.
"""
