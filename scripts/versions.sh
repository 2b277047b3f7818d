#!/bin/sh
# Plays short scenarios under some locks on every server version in containers
# and writes the tables into docs/matrix.md.
# Usage: scripts/versions.sh [OVERSELL [RUNS]]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
runs=${2:-runs}
report=$(mktemp)
trap 'rm -f "$report"' EXIT

code=0
"$oversell" run --all --backend docker --redis 6.0,7.0,8.0,8.6,valkey-8.1,valkey-9.1 \
	--scenario ttl-expiry,crash-before-expire,late-release \
	--lock naive,lua-release,lua-watchdog,native-cas,safe,redsync-extend,redislock-refresh,rueidislock \
	--stock 30 --buyers 45 --instances 4 --parallel 2 --dir "$runs" --output text --output markdown="$report" || code=$?
if [ -s "$report" ]; then
	scripts/between.sh versions "$report" docs/matrix.md
fi
exit "$code"
