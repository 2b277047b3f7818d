#!/bin/sh
# Writes the lists of scenarios, locks and faults between the README's markers,
# those that a scenario of one's own needs into docs/scenarios.md, and the JSON
# Schema of such a scenario into docs/scenario.schema.json.
# Usage: scripts/readme-tables.sh [GO]
set -eu
cd "$(dirname "$0")/.."

tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
oversell() { "$go" run ./cmd/oversell "$@"; }
go=${1:-go}

oversell list --output markdown >"$tables"
scripts/between.sh list "$tables"
oversell list faults hazards points --output markdown >"$tables"
scripts/between.sh list "$tables" docs/scenarios.md
oversell list schema >"$tables"
if ! cmp -s "$tables" docs/scenario.schema.json; then
	cat "$tables" >docs/scenario.schema.json
	echo "docs/scenario.schema.json is up to date again"
fi
