#!/usr/bin/env bash
# zookeeper-server-start.sh [-daemon] zookeeper.properties
if [ $# -lt 1 ]; then
  echo "USAGE: $0 [-daemon] zookeeper.properties" >&2
  exit 1
fi

# May be replaced from outside, as in the classic script; set but empty counts as set.
read -r -a options <<< "${EXTRA_ARGS--name zookeeper -loggc}"
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" ${options[@]+"${options[@]}"} \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$@"
