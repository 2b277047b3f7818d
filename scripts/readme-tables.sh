#!/bin/sh
# Writes the lists of scenarios, locks and faults between the README's markers.
# Usage: scripts/readme-tables.sh [GO]
set -eu
cd "$(dirname "$0")/.."

tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
"${1:-go}" run ./cmd/oversell list --output markdown >"$tables"
scripts/between.sh list "$tables"
