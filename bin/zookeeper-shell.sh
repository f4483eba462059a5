#!/usr/bin/env bash
# zookeeper-shell.sh host:port[/path] [-zk-tls-config-file file] [command ...]
if [ $# -lt 1 ]; then
  echo "USAGE: $0 zookeeper_host:port[/path] [-zk-tls-config-file file] [args...]" >&2
  exit 1
fi
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka \
  -server "$@"
