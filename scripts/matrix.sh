#!/bin/sh
# Plays every scenario under every lock on Redis 7.0 in containers and writes
# the table into the README and docs/matrix.md. Interrupted, it says how to go on.
# Usage: scripts/matrix.sh [OVERSELL [RUNS [OPTION...]]]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
runs=${2:-runs}
[ $# -lt 1 ] || shift
[ $# -lt 1 ] || shift
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# Whatever the gate says, what was played is shown; the exit code is the gate.
code=0
if [ $# -eq 0 ]; then
	set -- --all --backend docker --redis 7.0 --stock 30 --buyers 45 --instances 4 --parallel 2 --dir "$runs"
fi
"$oversell" run "$@" --output text --output markdown="$report" || code=$?
if [ ! -s "$report" ]; then
	exit "$code"
fi
scripts/between.sh matrix "$report" docs/matrix.md
# The README takes the tables alone.
tables=$(mktemp)
trap 'rm -f "$report" "$tables"' EXIT
awk '/^\|/ || /^\*\*/ || /^$/' "$report" >"$tables"
scripts/between.sh matrix "$tables"
exit "$code"
