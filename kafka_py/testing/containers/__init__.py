"""Containers for tests, of this project and of others, by the package `docker` (`pip install kafka_py[docker]`).

    kafka_container.py  a broker with its ZooKeeper, in containers
    compose_project.py  a compose file of docker/, up and down
    watchers.py         what the web manager and Prometheus of such a project say
    engine.py           the container engine of this machine, or one of our own
    base_image.py       a base image from Debian's packages, without a registry
"""
