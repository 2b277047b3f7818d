#!/bin/sh
# Plays the main job: the flash sale first, then whatever else the machine can.
# Usage: scripts/demo.sh [OVERSELL [RUNS]]
set -eu
cd "$(dirname "$0")/.."

oversell=${1:-bin/oversell}
runs=${2:-runs}

"$oversell" doctor || true
echo

# Doctor exits with 0 when there is a backend with real servers.
if "$oversell" doctor >/dev/null 2>&1; then
	"$oversell" run all --dir "$runs"
	exit
fi
echo "No real servers are to be had here: the demo plays on the embedded imitation"
echo "of Redis. Its results show how oversell works, and prove nothing about Redis."
echo
"$oversell" run all --backend embedded --allow-simulated --dir "$runs"
