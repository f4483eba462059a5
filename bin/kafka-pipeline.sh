#!/usr/bin/env bash
# Runs the pipeline that a .yaml or .toml file describes, on Spark (see --help).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_python.sh"
exec "$PYTHON" -P -m kafka_py.pipeline.jobs.run "$@"
