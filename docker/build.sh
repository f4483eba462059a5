#!/usr/bin/env bash
# docker/build.sh [--offline] [--base IMAGE] [OPTION OF docker build ...]: makes the images kafka_py/broker,
# kafka_py/manager and kafka_py/zookeeper, with the version and `latest` as tags. --offline makes the wheels here first
# (bin/build.sh), with this machine's pip, so that the build itself needs no network. --base: another image than
# debian:trixie-slim; with --offline it must have Python, 3.11 or newer.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../bin/_setup.sh"

offline=no
base=debian:trixie-slim
while [ $# -gt 0 ]; do
  case "$1" in
    --offline) offline=yes ;;
    --base) shift; base="${1:?--base needs an image}" ;;
    --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
    *) break ;;
  esac
  shift
done

command -v docker > /dev/null || { echo "Error: Docker is not installed (Debian: apt-get install docker.io)" >&2; exit 1; }
docker version > /dev/null 2>&1 ||
  { echo "Error: no container engine answers at ${DOCKER_HOST:-/var/run/docker.sock}: start it, or set DOCKER_HOST" >&2; exit 1; }

wheels="$ROOT/docker/wheels"
rm -f "$wheels"/*.whl
if [ "$offline" = yes ]; then
  work="$(mktemp -d)"
  trap 'rm -rf "$work"; rm -f "$wheels"/*.whl' EXIT
  "$ROOT/bin/build.sh" "$work/dist" > /dev/null
  python="$(docker run --rm --network none --entrypoint python3 "$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ||
    { echo "Error: $base has no python3: --offline needs a base image with Python 3.11 or newer" >&2; exit 1; }
  say "collecting wheels for Python $python"
  "$ROOT/docker/wheels.sh" "$(ls "$work"/dist/*.whl)" "$python" "$wheels"
fi

version="$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$ROOT/kafka_py/__init__.py")"
for image in broker manager zookeeper; do
  file="$ROOT/docker/Dockerfile"
  [ "$image" = broker ] || file="$file.$image"
  say "building kafka_py/$image:$version"
  docker build -q -f "$file" --build-arg BASE_IMAGE="$base" -t "kafka_py/$image:$version" -t "kafka_py/$image:latest" "$@" "$ROOT"
done
