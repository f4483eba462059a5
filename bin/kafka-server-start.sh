#!/usr/bin/env bash
# kafka-server-start.sh [-daemon] server.properties [--override property=value]*
if [ $# -lt 1 ]; then
  echo "USAGE: $0 [-daemon] server.properties [--override property=value]*" >&2
  exit 1
fi

options=(-name kafkaServer -loggc)
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" "${options[@]}" kafka.Kafka "$@"
