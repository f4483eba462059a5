"""One file per command; the scripts in bin/ call them through run_class.py, which knows Apache Kafka's class names.

    umbrella/                      kafka-py: everything under one name
    local_cluster/                 a cluster on this machine
    config_check/                  parts of kafka-py check
    top_view/                      parts of kafka-py top
    container/                     what runs in the container images
    common/                        option parsing, client settings, signals, ZooKeeper
    java_compat/                   Java's dates, durations, errors, options and log files
    console/                       records as text, in and out
    topic_admin/                   parts of kafka-topics.sh
    config_admin/                  parts of kafka-configs.sh
    acl_admin/                     kafka-acls.sh
    token_admin/                   kafka-delegation-tokens.sh
    certificates/                  kafka-make-certificates.sh
    group_admin/                   parts of kafka-consumer-groups.sh
    reassignment/                  parts of kafka-reassign-partitions.sh
    rebalancing/                   parts of kafka-py rebalance
    log_dump/                      parts of kafka-dump-log.sh
    perf/                          commands that measure
    verification/                  commands that check a cluster
    server_start.py                kafka-server-start.sh
    server_stop.py                 kafka-server-stop.sh
    topics.py                      kafka-topics.sh
    configs.py                     kafka-configs.sh
    console_producer.py            kafka-console-producer.sh
    console_consumer.py            kafka-console-consumer.sh
    consumer_groups.py             kafka-consumer-groups.sh
    reassign_partitions.py         kafka-reassign-partitions.sh
    leader_election.py             kafka-leader-election.sh
    preferred_replica_election.py  kafka-preferred-replica-election.sh
    log_dirs.py                    kafka-log-dirs.sh
    dump_log.py                    kafka-dump-log.sh
    delete_records.py              kafka-delete-records.sh
    get_offsets.py                 kafka-get-offsets.sh
    broker_api_versions.py         kafka-broker-api-versions.sh
    cluster.py                     kafka-cluster.sh
    transactions.py                kafka-transactions.sh
    streams_application_reset.py   kafka-streams-application-reset.sh
    state_change_log_merger.py     kafka.tools.StateChangeLogMerger
    zookeeper_server_start.py      zookeeper-server-start.sh
    zookeeper_server_stop.py       zookeeper-server-stop.sh
    zookeeper_shell.py             zookeeper-shell.sh
    quickstart.py                  ZooKeeper, broker, topic and real text, end to end
    run_class.py                   Apache Kafka's class names -> our commands
    completion.py                  scripts for bash and zsh from all option tables

A command module has `parser()`, `main(arguments) -> exit code` and `cli()`, which runs main as a process.

Not obvious: what a command needs besides its option table is imported where it is used, so --help comes at once.
"""
