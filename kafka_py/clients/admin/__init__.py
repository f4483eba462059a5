"""The admin client: describes and changes topics, settings, brokers and groups over the protocol.

    client.py              AsyncAdminClient and AdminClient
    core.py                shared by all calls: controller, retries
    results.py             a value or an error per item
    topics.py              create, delete, list and describe topics
    records.py             delete records
    offsets.py             offsets of partitions by timestamp
    settings.py            describe and alter settings
    quotas.py              quotas of users, clients and addresses
    acls.py                access control lists
    tokens.py              delegation tokens
    credentials.py         SCRAM credentials of users
    brokers.py             the cluster, API versions, controlled shutdown
    replicas.py            elect leaders, reassign partitions
    log_dirs.py            log directories and moves between them
    coordinators.py        calls on what has a coordinator
    groups.py              consumer groups, their offsets and members
    transactions.py        transactions, and the producers of partitions
    resources.py           values of settings
    group_descriptions.py  values of groups
    configs.py             the client's own settings

Not obvious: a call is a plain function whose first argument is the AdminCore; client.py turns all of them into methods.
"""
