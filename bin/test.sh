#!/usr/bin/env bash
# bin/test.sh [--all] [pytest arguments]: sets everything up and runs the checks and the tests.
# Without arguments: ruff, mypy, the import contract, and the tests of every day, among them short forms of the slow ones
# that matter most (marked `core`), in a process for each processor (KAFKA_PY_TEST_PROCESSES, else at most four).
# --all adds the slow ones, in their long forms, which load the machine themselves: in one process.
# With pytest arguments (a path, -k words): only those tests, in one process unless they say -n.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_setup.sh"

marker="not slow or core"
if [ "${1:-}" = "--all" ]; then
  marker="slow or not slow"
  export KAFKA_PY_LONG=1
  shift
fi

mapfile -t packages < <(zookeeper_packages)
ensure_environment benchmarks,docs,manager,oauth,oidc,otel,spark,test,top "${packages[@]}"
# Other people's software to test with: where it cannot be had, its tests are skipped (and fail where KAFKA_PY_SKIPS=fail).
ensure_peer() { command -v "$1" > /dev/null 2>&1 || ! can_apt || apt_install "$2" || say "$2 could not be installed"; }
ensure_peer kcat kcat
ensure_peer ip iproute2                   # networks of their own for rounds of trouble
ensure_peer zsh zsh                       # checks the completion script
ensure_peer chromium chromium             # a browser for the web manager
ensure_peer node nodejs                   # runs the OpenID Connect provider
ensure_peer npm npm                       # fetches it
ensure_peer prometheus prometheus         # evaluates every expression of the dashboards
ensure_peer mvn maven                     # fetches Apache Kafka's own broker, tools and clients
ensure_peer javac openjdk-17-jdk-headless # compiles the small programs on those clients
ensure_peer krb5kdc krb5-kdc              # a Kerberos realm, its tools and what the package gssapi is built with
ensure_peer kadmin.local krb5-admin-server
ensure_peer kinit krb5-user
ensure_peer krb5-config libkrb5-dev
ls /usr/lib/*/sasl2/libgssapiv2.so > /dev/null 2>&1 || ! can_apt || apt_install libsasl2-modules-gssapi-mit ||
  say "libsasl2-modules-gssapi-mit could not be installed" # kcat's Kerberos
if command -v krb5-config > /dev/null 2>&1 && ! "$PYTHON" -c 'import gssapi' 2> /dev/null; then
  "$PYTHON" -m pip install -q --disable-pip-version-check -e "$ROOT[kerberos]" || say "gssapi could not be built"
fi
if [ "$marker" = "slow or not slow" ]; then # tests/docker
  ensure_peer dockerd docker.io
  ensure_peer debootstrap debootstrap
  docker compose version > /dev/null 2>&1 || ensure_peer docker-compose docker-compose
fi

cd "$ROOT"
if [ $# -eq 0 ]; then
  say "ruff";            "$PYTHON" -m ruff check .
  say "mypy";            "$PYTHON" -m mypy
  say "mypy of tests";   "$PYTHON" -m mypy --config-file tests/mypy.toml
  say "import contract"; "$ROOT/.venv/bin/lint-imports"
fi
say "pytest"
if [ $# -eq 0 ] && [ "$marker" != "slow or not slow" ]; then
  processors="$(nproc)"
  # A module's tests share brokers: they stay together. Short modules come last, so that the processes end together.
  set -- -n "${KAFKA_PY_TEST_PROCESSES:-$((processors < 4 ? processors : 4))}" --dist loadfile \
    --no-loadscope-reorder --durations 25
fi
exec "$PYTHON" -m pytest -m "$marker" "$@"
