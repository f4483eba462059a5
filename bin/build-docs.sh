#!/usr/bin/env bash
# bin/build-docs.sh DIR: builds the documentation site in DIR; any warning ends it with exit code 1.
# The site needs no server and no network: open DIR/index.html. Needs MkDocs (pip install "kafka_py[docs]").
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_setup.sh"

[ $# -eq 1 ] && [ "${1#-}" = "$1" ] || { echo "USAGE: ${0##*/} DIR" >&2; exit 1; }
mkdir -p "$1"
out="$(cd "$1" && pwd)"
export NO_MKDOCS_2_WARNING=1 # the notice of Material's end: docs/releasing.md

if [ -n "${KAFKA_PY_PYTHON:-}" ]; then PYTHON="$KAFKA_PY_PYTHON"; else ensure_environment docs; fi
export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
exec "$PYTHON" -m mkdocs build --strict --quiet --clean --config-file "$ROOT/docs/site/mkdocs.yml" --site-dir "$out"
