# shellcheck shell=bash
# Sourced by kafka-run-class.sh: sets PYTHON to the interpreter that has kafka_py's packages.
# In this order: KAFKA_PY_PYTHON, the .venv that quickstart.sh and test.sh make, an active virtual environment, python3.

_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

if [ -n "${KAFKA_PY_PYTHON:-}" ]; then
  PYTHON="$KAFKA_PY_PYTHON"
elif [ -x "$_root/.venv/bin/python" ]; then
  PYTHON="$_root/.venv/bin/python"
elif [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
  PYTHON="$VIRTUAL_ENV/bin/python"
else
  PYTHON=python3
fi

if ! command -v "$PYTHON" > /dev/null 2>&1; then
  printf '%s\n' "Error: $PYTHON cannot be run. Make an environment with bin/quickstart.sh, or set KAFKA_PY_PYTHON." >&2
  exit 1
fi

# The commands also run from a checkout that was never installed.
export PYTHONPATH="$_root${PYTHONPATH:+:$PYTHONPATH}"
unset _root
