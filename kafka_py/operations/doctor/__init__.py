"""The doctor: what is wrong with a cluster or with the way to it, why that matters, and what repairs it.

    findings.py         a finding, and the report
    examination.py      what was seen, as values
    reaching.py         the way to one broker, step by step
    tls_probe.py        handshakes that are only looked at
    settings_probe.py   settings of brokers and topics
    clocks_probe.py     clocks of brokers, by append times
    disks_probe.py      disks of brokers on this machine
    zookeeper_probe.py  how ZooKeeper servers are
    metrics_probe.py    pages of metrics
    checks/             pure checks over an examination
    examine.py          runs the probes
    diagnosis.py        examination and checks together

Not obvious: probes do the I/O and judge nothing; checks judge and ask nobody. What cannot be known, such as
the clock of a broker of 2.8, is named as not checked, never guessed. Nothing is changed in the cluster, except for two
records in a topic that the user names for it.
"""
