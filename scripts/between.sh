#!/bin/sh
# Replaces what is between <!-- NAME:begin --> and <!-- NAME:end --> in a page,
# the README unless another one is named, with a file's contents.
# Usage: scripts/between.sh NAME FILE [PAGE]
set -eu
cd "$(dirname "$0")/.."

name=$1
file=$2
page=${3:-README.md}
for end in begin end; do
	if ! grep -qxF "<!-- $name:$end -->" "$page"; then
		echo "error: $page has no line <!-- $name:$end -->" >&2
		exit 1
	fi
done
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -v name="$name" -v file="$file" '
	$0 == "<!-- " name ":end -->" { skip = 0 }
	!skip { print }
	$0 == "<!-- " name ":begin -->" {
		skip = 1
		while ((getline line < file) > 0) print line
	}
' "$page" >"$new"
# Written only when it changes, and in place: the file keeps its mode.
if ! cmp -s "$new" "$page"; then
	cat "$new" >"$page"
	echo "$page: $name is up to date again"
fi
