"""The command `kafka-py`: every tool by a short name, and commands that Apache Kafka has no script for, one file each.

    main.py        finds the command that is meant
    tool_names.py  short names, and the scripts on the PATH
    profiles.py    named clusters and their settings, for every tool
    options.py     help on standard output, the data folder
    up.py          starts a cluster on this machine
    down.py        stops it
    status.py      what runs, and how it is
    logs.py        what its processes write
    roll.py        restarts its brokers one by one
    top.py         brokers, topics and groups, live
    replace.py     Apache's brokers replaced by ours, and back
    names.py       names of topics and groups for the completion
    web.py         the web manager, served
    exporter.py    a cluster for Prometheus
    check.py       what is wrong with a file of settings
    doctor.py      what is wrong with a cluster
    rebalance.py   spreads partitions over brokers
    bundle.py      a support archive
    dashboards.py  dashboards and alert rules
"""
