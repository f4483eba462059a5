#!/usr/bin/env bash
# bin/build.sh DIR: makes the wheel and the sdist in DIR, with ZooKeeper's jars inside (bin/_zookeeper_jars.tsv).
# Nothing is written elsewhere: the tree is copied to a temporary folder first. Needs git, mvn (KAFKA_PY_JARS names a
# folder that has the jars already) and pip.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_setup.sh"

[ $# -eq 1 ] && [ "${1#-}" = "$1" ] || { echo "USAGE: ${0##*/} DIR" >&2; exit 1; }
mkdir -p "$1"
out="$(cd "$1" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
tree="$work/kafka_py"
jars="$tree/kafka_py/cli/java_compat/zookeeper_jars"

mkdir "$tree"
(cd "$ROOT" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$tree"
mkdir "$jars"

printf 'These jars are unchanged copies from Maven Central, each under its own license:\n' > "$jars/README.txt"
while IFS=$'\t' read -r coordinates license digest; do
  case "$coordinates" in '#'* | '') continue ;; esac
  IFS=: read -r group artifact version <<< "$coordinates"
  jar="$artifact-$version.jar"
  if [ -f "${KAFKA_PY_JARS:-/nonexistent}/$jar" ]; then
    cp "$KAFKA_PY_JARS/$jar" "$jars"
  else
    command -v mvn > /dev/null || { say "mvn is needed to fetch $jar: install Maven, or set KAFKA_PY_JARS"; exit 1; }
    say "fetching $coordinates"
    mvn -q -B dependency:copy "-Dartifact=$coordinates" "-DoutputDirectory=$jars" < /dev/null > "$work/mvn.log" 2>&1 ||
      { cat "$work/mvn.log" >&2; exit 1; }
  fi
  printf '%s  %s\n' "$digest" "$jars/$jar" | sha256sum --check --quiet - ||
    { say "$jar is not the file that bin/_zookeeper_jars.tsv names"; exit 1; }
  printf '%s  %s  %s\n' "$coordinates" "$license" "$digest" >> "$jars/README.txt"
done < "$ROOT/bin/_zookeeper_jars.tsv"

say "building"
"$(find_base_python)" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check build
"$work/venv/bin/python" -m build --outdir "$out" "$tree" > "$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
ls "$out"
