#!/usr/bin/env bash
# Runs one broker with the settings of a property file, in the foreground or (-daemon) detached.
[ $# -gt 0 ] || { echo "USAGE: ${0##*/} [-daemon] PROPERTY_FILE [--override NAME=VALUE ...]" >&2; exit 1; }

# Both may be replaced from outside, as in Apache's script; set but empty counts as set for EXTRA_ARGS.
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export KAFKA_LOG4J_OPTS="${KAFKA_LOG4J_OPTS:--Dlog4j.configuration='file:$(dirname "$here")/config/log4j.properties'}"
read -r -a options <<< "${EXTRA_ARGS--name kafkaServer -loggc}"
if [ "$1" = "-daemon" ]; then
  options+=(-daemon)
  shift
fi
exec "$here/kafka-run-class.sh" ${options[@]+"${options[@]}"} kafka.Kafka "$@"
