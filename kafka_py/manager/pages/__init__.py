"""The pages of the manager: models and handlers, one file per subject. Their templates are in web/templates.

    table.py     all routes, in the order of the menus
    login.py     logging in and out
    oidc_login.py  logging in and out by a provider
    overview.py  all clusters
    registration.py  clusters added and removed
    brokers.py   the brokers of a cluster
    topics.py    lists of topics, and one topic
    topic_changes.py  topics created, deleted, extended; elections
    settings_table.py  settings of topics and brokers, and their changes
    messages.py  messages of a topic: pages, exports, live tails
    message_sending.py  a message sent from a form
    message_parts.py  masks, schemas and the form they share
    doctor.py    what is wrong, and what repairs it
    bundle.py    a support archive
    reassignments.py  plans for moves, and moves that run
    moves/       plans of goals: rebalances, log directories
    groups.py    lists of groups, and one group
    group_changes.py  offsets reset and deleted, groups deleted
    group_looks.py  groups with lag, ages and health
    looks.py     one look at a cluster for a page
    commands.py  commands that do the same
    history.py   charts over time
    timeline.py  what happened
    metrics.py   all clusters for Prometheus
    security/    users, ACLs, quotas, tokens, transactions
"""
