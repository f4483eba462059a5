"""Access control lists: which principal may do which operation on which resource, from which host.

    vocabulary.py         operations, resource types, pattern types, permissions
    bindings.py           one ACL as a value, and filters of ACLs
    authorization.py      the interface of an authorizer; one that allows everything
    index.py              all ACLs, found by resource and principal
    hosts.py              addresses in Java's form
    decisions.py          the rules: what the ACLs say about one action
    keeper.py             the ACLs of a cluster, in ZooKeeper
    audit.py              the audit log
    acl_authorizer.py     the authorizer that goes by ACLs
    plugin_authorizer.py  an authorizer of the operator's own

Not obvious: a decision goes by the entries of all patterns that a resource's name matches at once, so that one denial
anywhere counts; only where no pattern matches at all, `allow.everyone.if.no.acl.found` decides.
"""
