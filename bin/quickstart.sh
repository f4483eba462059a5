#!/usr/bin/env bash
# bin/quickstart.sh: sets everything up and runs the main job end to end (see --help).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_setup.sh"

mapfile -t packages < <(zookeeper_packages)
ensure_environment benchmarks,fast,spark "${packages[@]}"
exec "$PYTHON" -m kafka_py.cli.quickstart "$@"
