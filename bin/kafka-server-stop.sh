#!/usr/bin/env bash
# kafka-server-stop.sh: sends SIGNAL (TERM unless set) to every broker process on this machine; does not wait for it.
# A broker is a process whose own arguments run kafka_py's broker, whatever its working directory or the length of its
# command line; processes that only mention it (editors, greps, shells) are not.
set -u
case " $* " in *" --help "* | *" -h "*) echo "USAGE: [SIGNAL=name] ${0##*/}" >&2; exit 1 ;; esac
SIGNAL="${SIGNAL:-TERM}"
PROC="${KAFKA_PY_PROC:-/proc}"

# is_broker ARG...: python -m kafka_py.cli.run_class kafka.Kafka ..., or python -m kafka_py.cli.server_start ...
is_broker() {
  case "${1##*/}" in
    python*) ;;
    *) return 1 ;;
  esac
  shift
  while [ $# -gt 1 ]; do
    if [ "$1" = "-m" ]; then
      case "$2" in
        kafka_py.cli.server_start) return 0 ;;
        kafka_py.cli.run_class) [ "${3:-}" = "kafka.Kafka" ] || [ "${3:-}" = "kafka_py.cli.server_start" ]; return ;;
      esac
      return 1
    fi
    shift
  done
  return 1
}

found=()
for process in "$PROC"/[0-9]*; do
  arguments=()
  [ -r "$process/cmdline" ] || continue
  while IFS= read -r -d '' argument; do
    arguments+=("$argument")
  done 2> /dev/null < "$process/cmdline"
  if [ ${#arguments[@]} -gt 0 ] && is_broker "${arguments[@]}"; then
    found+=("${process##*/}")
  fi
done

if [ ${#found[@]} -eq 0 ]; then
  echo "No kafka server to stop"
  exit 1
fi
kill -s "$SIGNAL" "${found[@]}"
