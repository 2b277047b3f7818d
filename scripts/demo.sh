#!/bin/sh
# Plays the main job: the flash sale first, then the crash and the failover,
# where the machine can.
# Usage: scripts/demo.sh [OVERSELL [RUNS]]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
runs=${2:-runs}
scenarios="ttl-expiry crash-before-expire sentinel-failover"

"$oversell" doctor || true
echo

# Doctor exits with 0 when there is a backend with real servers.
if "$oversell" doctor >/dev/null 2>&1; then
	# Split on purpose: one argument a scenario.
	# shellcheck disable=SC2086
	"$oversell" run $scenarios --dir "$runs"
	exit
fi
echo "No real servers are to be had here: the demo plays on the embedded imitation"
echo "of Redis. Its results show how oversell works, and prove nothing about Redis."
echo
# shellcheck disable=SC2086
"$oversell" run $scenarios --backend embedded --allow-simulated --dir "$runs"
