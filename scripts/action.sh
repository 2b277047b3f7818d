#!/usr/bin/env bash
# What action.yml runs: oversell with the action's inputs, which come as
# variables of the environment, and every report in one folder. It ends with the
# exit code of oversell.
set -euo pipefail

bin=${OVERSELL_BIN:-oversell}
out=${OVERSELL_OUTPUT:-oversell}
mkdir -p "$out"

args=(run)
read -ra scenarios <<<"${OVERSELL_SCENARIOS:-}"
args+=(${scenarios[@]+"${scenarios[@]}"})
[ -z "${OVERSELL_LOCKS:-}" ] || args+=(--lock "$OVERSELL_LOCKS")
[ -z "${OVERSELL_BACKEND:-}" ] || args+=(--backend "$OVERSELL_BACKEND")
[ -z "${OVERSELL_REDIS:-}" ] || args+=(--redis "$OVERSELL_REDIS")
if [ -n "${OVERSELL_BASELINE:-}" ] && [ -e "$OVERSELL_BASELINE" ]; then
  args+=(--baseline "$OVERSELL_BASELINE" --fail-on "${OVERSELL_FAIL_ON:-all}")
elif [ -n "${OVERSELL_BASELINE:-}" ]; then
  echo "no baseline yet: $OVERSELL_BASELINE is not there"
fi
args+=(--dir "$out/runs" --output text --output "junit=$out/junit.xml" --output "json=$out/result.json")
args+=(--output "ndjson=$out/oversell.ndjson" --output "sarif=$out/oversell.sarif" --output "trace=$out/trace.json")
if [ -n "$(tr -d "[:space:]" <<<"${OVERSELL_ARGS:-}")" ]; then
  words=$(xargs -n1 printf '%s\n' <<<"$OVERSELL_ARGS") # splits and unquotes as a shell does
  while IFS= read -r word; do args+=("$word"); done <<<"$words"
fi

code=0
"$bin" "${args[@]}" || code=$?

if [ -n "${GITHUB_OUTPUT:-}" ]; then
  {
    echo "exit-code=$code"
    echo "junit=$out/junit.xml"
    echo "sarif=$out/oversell.sarif"
    echo "json=$out/result.json"
  } >>"$GITHUB_OUTPUT"
fi
exit "$code"
