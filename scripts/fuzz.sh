#!/usr/bin/env bash
# Runs every fuzz target for a while, from the kept corpus. usage: scripts/fuzz.sh TIME [package-pattern]
set -euo pipefail
time=${1:-5s} pattern=${2:-./...} failed=0
for pkg in $(go list "$pattern"); do
  for target in $(go test -list '^Fuzz' "$pkg" 2>/dev/null | grep '^Fuzz' || true); do
    echo "fuzz $pkg $target $time"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" || failed=1
  done
done
exit $failed
