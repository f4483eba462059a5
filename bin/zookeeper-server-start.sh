#!/usr/bin/env bash
# zookeeper-server-start.sh [-daemon] zookeeper.properties
if [ $# -lt 1 ]; then
  echo "USAGE: $0 [-daemon] zookeeper.properties" >&2
  exit 1
fi

options=(-name zookeeper -loggc)
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" "${options[@]}" \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$@"
