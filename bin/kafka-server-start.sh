#!/usr/bin/env bash
# kafka-server-start.sh [-daemon] server.properties [--override property=value]*
if [ $# -lt 1 ]; then
  echo "USAGE: $0 [-daemon] server.properties [--override property=value]*" >&2
  exit 1
fi

# Both may be replaced from outside, as in the classic script; set but empty counts as set for EXTRA_ARGS.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export KAFKA_LOG4J_OPTS="${KAFKA_LOG4J_OPTS:--Dlog4j.configuration='file:$(dirname "$here")/config/log4j.properties'}"
read -r -a options <<< "${EXTRA_ARGS--name kafkaServer -loggc}"
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$here/kafka-run-class.sh" ${options[@]+"${options[@]}"} kafka.Kafka "$@"
