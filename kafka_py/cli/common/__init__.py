"""What commands share: option parsing, settings of clients, progress, signals, the connection to ZooKeeper.

    command.py               option parsing by Kafka's rules, errors as one line
    prefix_parser.py         the other option parser of some tools
    connection_options.py    the options that name a tool's cluster
    client_properties.py     settings of producers and consumers
    zookeeper_connection.py  a command's session with ZooKeeper
    termination.py           signals that end a command
    progress.py              how far a long piece of work is
    documents.py             JSON and YAML instead of the classic text
    throttle.py              so many steps per second
    user_folders.py          where settings, data and caches of a user are
    whole_files.py           files that are always seen whole
    manager_process.py       the web manager, from its settings to its end
    detached.py              processes that outlive the command
"""
