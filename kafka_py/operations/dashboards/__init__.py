"""Dashboards for Grafana and rules for Prometheus, as typed values; pure, so that a test can ask for every expression.

    scopes.py             placeholders of expressions, resolved for dashboards and rules
    panels.py             dashboards, rows, panels, queries and variables as values
    expressions.py        expressions that panels and alerts share
    variables.py          the variables of the dashboards
    cluster_board.py      the dashboard of brokers and partitions
    topics_board.py       that of topics
    groups_board.py       that of consumer groups
    clients_board.py      that of connections, requests and quotas
    controller_board.py   that of the controller
    zookeeper_board.py    that of the brokers' ZooKeeper sessions
    layout.py             where panels are on the grid
    grafana.py            a dashboard as Grafana's JSON
    alerts.py             alerts and recording rules as values
    partition_alerts.py   alerts about partitions and the controller
    broker_alerts.py      alerts about brokers, their disks and ZooKeeper sessions
    client_alerts.py      alerts about clients and consumer groups
    rules.py              the file of rules
    files.py              all files with their texts

Not obvious: an expression is written once, with placeholders (`@brokers`, `@window`) for its matchers and its range, as
a dashboard selects by variables and a rule by the names of scrape jobs. Metrics of groups have the names of
kafka_exporter, all others those of a broker's page (docs/reference/metrics.tsv).
"""
