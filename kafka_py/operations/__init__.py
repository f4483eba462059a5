"""What is known and done about a whole cluster, of whichever make, through clients: looks, findings, plans, dashboards.

    bundle/        a support archive without secrets
    cluster_view/  one look at a cluster as plain values
    dashboards/    dashboards for Grafana, rules for Prometheus
    directories/   bytes evened out over the log directories of each broker
    doctor/        what is wrong with a cluster, and what repairs it
    exporter/      a cluster as metrics for Prometheus
    groups/        consumer groups: their health, resets
    rebalancing/   plans that spread partitions, and their execution
    replacement/   brokers of Apache Kafka replaced by ours, and back
    reassignments/  replicas moved to other brokers, as a user has planned
"""
