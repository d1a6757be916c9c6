#!/usr/bin/env bash
# Builds and fetches the servers and readers of the integration tests at their pinned versions, once: MinIO and toxiproxy from source (go.mod files
# under tools/), the Java REST catalog's jars, a Python environment; with names given, only those. Everything lands in $LAKESCAN_TOOLS, keyed by the hash of its pins. Needs Go, a JDK, Maven, Python 3.
set -euo pipefail
cd "$(dirname "$0")"
. ./env.sh
mkdir -p "$LAKESCAN_TOOLS"
only="$*"
exec 9>"$LAKESCAN_TOOLS/lock"; flock 9   # two runs at once wait for each other

# once NAME PIN-FILES… -- COMMAND…: runs the command unless NAME was made from the same pins.
once() {
  local name=$1 pins=() sum; shift
  [[ " ${only:-$name} " = *" $name "* ]] || return 0
  while [ "$1" != -- ]; do pins+=("$1"); shift; done; shift
  sum=$(cat "${pins[@]}" | sha256sum | cut -c1-16)
  if [ "$(cat "$LAKESCAN_TOOLS/$name.pin" 2>/dev/null)" != "$sum" ]; then
    echo "prepare: $name"
    "$@"
    echo "$sum" >"$LAKESCAN_TOOLS/$name.pin"
  fi
}
build() { (cd "../tools/$1" && go build -o "$LAKESCAN_TOOLS/$2" "$3"); }
jars() {
  rm -rf "$LAKESCAN_TOOLS/catalog"; mkdir -p "$LAKESCAN_TOOLS/catalog"
  mvn -q -B -f fixture/pom.xml dependency:copy-dependencies -DoutputDirectory="$LAKESCAN_TOOLS/catalog/lib"
  javac -nowarn -cp "$LAKESCAN_TOOLS/catalog/lib/*" -d "$LAKESCAN_TOOLS/catalog/classes" fixture/CatalogServer.java
}
python() {
  rm -rf "$LAKESCAN_TOOLS/python"; python3 -m venv "$LAKESCAN_TOOLS/python"
  "$LAKESCAN_TOOLS/python/bin/pip" install -q --disable-pip-version-check --no-deps uv
  "$LAKESCAN_TOOLS/python/bin/uv" pip install -q --python "$LAKESCAN_TOOLS/python/bin/python" -r requirements.txt
}
peers() { "$LAKESCAN_TOOLS/python/bin/uv" pip install -q --python "$LAKESCAN_TOOLS/python/bin/python" -r tpch/requirements.txt; }
once toxiproxy ../tools/toxiproxy/go.mod -- build toxiproxy toxiproxy-server github.com/Shopify/toxiproxy/v2/cmd/server
once catalog fixture/pom.xml fixture/CatalogServer.java -- jars
once python requirements.txt -- python
once minio ../tools/minio/go.mod -- build minio minio github.com/minio/minio
spark() {
  "$LAKESCAN_TOOLS/python/bin/uv" pip install -q --python "$LAKESCAN_TOOLS/python/bin/python" -r spark/requirements.txt
  rm -rf "$LAKESCAN_TOOLS/spark"
  mvn -q -B -f spark/pom.xml dependency:copy-dependencies -DoutputDirectory="$LAKESCAN_TOOLS/spark"
}
if [[ " $only " = *" spark "* ]]; then once spark requirements.txt spark/requirements.txt spark/pom.xml -- spark; fi   # a writer of the oracle's tables, on demand
if [ "${1:-}" = peers ]; then once peers requirements.txt tpch/requirements.txt -- peers; fi   # what only measuring needs
