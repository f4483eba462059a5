"""A world to test in: things that stand in for the outside, or start the real thing and stop it again.

    pytest_plugin.py     a cluster as pytest fixtures, for any project
    cluster.py           brokers and ZooKeeper, for any test runner
    client_access.py     how a client comes in, for every library
    broker.py            a broker as a real process
    processes.py         real processes, started and stopped
    topics.py            topics made over the wire
    guard.py             nothing outlives the tests
    interrupts.py        Ctrl-C at a drawn moment
    clock.py             a clock that the test moves
    virtual_time.py      an event loop whose clock jumps
    znode_tree.py        a tree of znodes in memory
    zookeeper.py         ZooKeeper in memory
    secured_zookeeper.py  a real ZooKeeper with TLS and logins
    local_broker.py      a whole broker on the test's loop
    cluster_views.py     leaders and in-sync sets as brokers tell them
    browsers.py           Chromium, driven by Playwright
    web_manager.py       the web manager, called or served
    znodes.py            znodes read and written by hand
    tls_ends.py          two ends of TLS without a broker
    tls_records.py       records that no TLS client sends
    certificate_files.py  certificates for brokers and clients
    compacted_topics.py  one compacted topic's logs, on disks in memory
    side_work.py         work beside a load
    transcripts.py       scenarios as text, played and rewritten
    shared_words.py      runs of words that two programs share
    containers/          a broker in containers, and an engine for them
    fakes/               stand-ins in memory
    peers/               Apache's tools and clients, raw connections
    fuzz/                changed bytes for everything that reads bytes
    simulation/          whole clusters on simulated time

For other projects there is docs/testing-with-kafka_py.md. Nothing in the product imports this package.
"""
