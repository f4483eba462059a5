"""What runs inside the container images of docker/: settings from environment variables, the servers, their health.

    variables.py            variables that are no settings; secrets by files
    broker_variables.py     KAFKA_... variables as settings of a broker
    zookeeper_variables.py  ZOO_... variables as settings of ZooKeeper
    manager_variables.py    KAFKA_MANAGER_... variables as settings of the web manager
    broker.py               the broker's image starts here
    zookeeper.py            ZooKeeper's image starts here
    manager.py              the web manager's image starts here
    health.py               whether the server in this container serves

Not obvious: no file with settings is written for the broker or the manager, for they may hold passwords; the health
check reads the same variables again.
"""
