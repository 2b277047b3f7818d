#!/bin/sh
# Plays the flash sale for real and puts what it printed into the README.
# Usage: scripts/readme-run.sh [OVERSELL]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
out=$(mktemp)
block=$(mktemp)
runs=$(mktemp -d)
trap 'rm -rf "$out" "$block" "$runs"' EXIT

# Only a run on real servers that met its gate is fit to be shown.
"$oversell" run ttl-expiry --color never --seed 137 --dir "$runs" >"$out"
{
	echo '```'
	echo '$ oversell run ttl-expiry'
	sed -e "s#$runs#runs#g" -e 's# --dir runs##' -e "s#^$oversell run#oversell run#" "$out"
	echo '```'
} >"$block"
scripts/between.sh run "$block"
