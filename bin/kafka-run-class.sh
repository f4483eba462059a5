#!/usr/bin/env bash
# kafka-run-class.sh [-daemon] [-name servicename] [-loggc] classname [opts]
# Runs the command behind a classic class name; with -daemon in the background, output in $LOG_DIR/<name>.out.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=bin/_python.sh
. "$here/_python.sh"

daemon=false
name=kafka
while [ $# -gt 0 ]; do
  case "$1" in
    -daemon) daemon=true; shift ;;
    -name) name="${2:?-name needs a value}"; shift 2 ;;
    -loggc) shift ;;
    *) break ;;
  esac
done

if [ "$daemon" = true ]; then
  # A command in the background has nobody who reads its console: it also writes its log files there.
  export LOG_DIR="${LOG_DIR:-$(dirname "$here")/logs}"
  mkdir -p "$LOG_DIR"
  nohup "$PYTHON" -P -m kafka_py.cli.run_class "$@" > "$LOG_DIR/$name.out" 2>&1 < /dev/null &
else
  exec "$PYTHON" -P -m kafka_py.cli.run_class "$@"
fi
