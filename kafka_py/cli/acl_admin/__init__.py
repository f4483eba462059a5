"""kafka-acls.sh, and zookeeper-security-migration.sh.

    acl_options.py                   the option table and the rules between options
    wanted_acls.py                   the ACLs and filters that the options mean
    acl_services.py                  ACLs by way of brokers, or past them in ZooKeeper
    acls.py                          the command
    zookeeper_security_migration.py  the other command
    znode_migration.py               access lists of a cluster's znodes

Not obvious: a producer's or consumer's ACLs are those of several operations and resources at once.
"""
