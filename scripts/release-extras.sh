#!/usr/bin/env bash
# Completions and manual pages, made by the program itself. usage: release-extras.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
rm -rf "$out"; mkdir -p "$out/completions" "$out/man"
CGO_ENABLED=0 go build -o "$out/lakescan" ./cmd/lakescan
"$out/lakescan" completion bash >"$out/completions/lakescan.bash"
"$out/lakescan" completion zsh >"$out/completions/_lakescan"
"$out/lakescan" completion fish >"$out/completions/lakescan.fish"
"$out/lakescan" completion powershell >"$out/completions/lakescan.ps1"
"$out/lakescan" docs man "$out/man"
rm "$out/lakescan"
