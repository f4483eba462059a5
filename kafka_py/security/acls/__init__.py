"""Access control lists: which principal may do which operation on which resource, from which host.

    vocabulary.py     operations, resource types, pattern types, permissions
    authorization.py  the interface of an authorizer; everything allowed
    bindings.py       one ACL as a value, and filters of ACLs
    index.py          all ACLs, found by resource and principal
    decisions.py      the rules: what the ACLs say about one action

Not obvious: a decision goes by the entries of all patterns that a resource's name matches at once, so that one denial
anywhere counts; only where no pattern matches at all, `allow.everyone.if.no.acl.found` decides.
"""
