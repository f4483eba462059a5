#!/usr/bin/env bash
# Runs one ZooKeeper server with the settings of a property file, in the foreground or (-daemon) detached.
[ $# -gt 0 ] || { echo "USAGE: ${0##*/} [-daemon] PROPERTY_FILE" >&2; exit 1; }

# May be replaced from outside, as in Apache's script; set but empty counts as set.
read -r -a options <<< "${EXTRA_ARGS--name zookeeper -loggc}"
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" ${options[@]+"${options[@]}"} \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$@"
