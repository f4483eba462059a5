#!/usr/bin/env bash
# kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]
# Runs the command behind a classic class name; with -daemon in the background, output in $LOG_DIR/<name>.out.
# Of the classic environment variables, LOG_DIR and KAFKA_LOG4J_OPTS matter to a broker; ZooKeeper's server, the one
# command that is Java, also uses JAVA_HOME, CLASSPATH, JMX_PORT, KAFKA_HEAP_OPTS, KAFKA_OPTS, KAFKA_JMX_OPTS,
# KAFKA_JVM_PERFORMANCE_OPTS, KAFKA_GC_LOG_OPTS and KAFKA_DEBUG. The others have no meaning here and do no harm.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=bin/_python.sh
. "$here/_python.sh"

daemon=false
loggc=false
name=kafka
while [ $# -gt 0 ]; do
  case "$1" in
    -daemon) daemon=true; shift ;;
    -name) name="${2:?-name needs a value}"; shift 2 ;;
    -loggc) loggc=true; shift ;;
    *) break ;;
  esac
done

log_dir="${LOG_DIR:-$(dirname "$here")/logs}"
if [ "$loggc" = true ] && [ "${1:-}" = org.apache.zookeeper.server.quorum.QuorumPeerMain ] &&
  [ -z "${KAFKA_GC_LOG_OPTS:-}" ] && mkdir -p "$log_dir" 2> /dev/null; then
  export KAFKA_GC_LOG_OPTS="'-Xlog:gc*:file=$log_dir/$name-gc.log:time,tags:filecount=10,filesize=100M'"
fi

if [ "$daemon" = true ]; then
  # A command in the background has nobody who reads its console: it also writes its log files there.
  export LOG_DIR="$log_dir"
  mkdir -p "$LOG_DIR"
  nohup "$PYTHON" -P -m kafka_py.cli.run_class "$@" > "$LOG_DIR/$name.out" 2>&1 < /dev/null &
else
  exec "$PYTHON" -P -m kafka_py.cli.run_class "$@"
fi
