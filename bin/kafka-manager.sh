#!/usr/bin/env bash
# Serves the web manager (see --help).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_python.sh"
exec "$PYTHON" -P -m kafka_py.cli.umbrella.web "$@"
