#!/usr/bin/env bash
# A shell on ZooKeeper: one command from the arguments, or one per line of standard input.
[ $# -gt 0 ] || { echo "USAGE: ${0##*/} HOST:PORT[/PATH] [COMMAND [ARGUMENT ...]]" >&2; exit 1; }
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka \
  -server "$@"
