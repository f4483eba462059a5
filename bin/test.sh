#!/usr/bin/env bash
# bin/test.sh [--all] [pytest arguments]: sets everything up and runs the checks and the tests.
# Without arguments: ruff, mypy, the import contract, and the tests of every day. --all adds the slow ones.
# With pytest arguments (a path, -k words): only those tests.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_setup.sh"

marker="not slow"
if [ "${1:-}" = "--all" ]; then
  marker="slow or not slow"
  shift
fi

mapfile -t packages < <(zookeeper_packages)
ensure_environment test "${packages[@]}"
if ! command -v kcat > /dev/null 2>&1 && can_apt; then
  apt_install kcat || say "kcat could not be installed: its tests will be skipped"
fi

cd "$ROOT"
if [ $# -eq 0 ]; then
  say "ruff";            "$PYTHON" -m ruff check .
  say "mypy";            "$PYTHON" -m mypy
  say "import contract"; "$ROOT/.venv/bin/lint-imports"
fi
say "pytest"
exec "$PYTHON" -m pytest -m "$marker" "$@"
