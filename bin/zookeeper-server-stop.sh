#!/usr/bin/env bash
# zookeeper-server-stop.sh: sends SIGNAL (TERM unless set) to every ZooKeeper server on this machine; does not wait.
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" kafka_py.cli.zookeeper_server_stop "$@"
