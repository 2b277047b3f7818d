#!/bin/sh
# Explores every lock under every hazard by itself, and under all of them
# together, and writes the table into docs/explore.md.
# Usage: scripts/explore.sh [OVERSELL [OPTION...]]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
[ $# -lt 1 ] || shift
table=$(mktemp)
schedules=$(mktemp -d)
trap 'rm -rf "$table" "$schedules"' EXIT
"$oversell" explore --all --hazards all --budget 60s --strategy exhaustive --dir "$schedules" --output markdown "$@" >"$table"
scripts/between.sh explore "$table" docs/explore.md
