#!/bin/sh
# Replaces what is between <!-- NAME:begin --> and <!-- NAME:end --> in the
# README with a file's contents. Usage: scripts/between.sh NAME FILE
set -eu
cd "$(dirname "$0")/.."

name=$1
file=$2
for end in begin end; do
	if ! grep -qxF "<!-- $name:$end -->" README.md; then
		echo "error: README.md has no line <!-- $name:$end -->" >&2
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
' README.md >"$new"
# Written only when it changes, and in place: the file keeps its mode.
if ! cmp -s "$new" README.md; then
	cat "$new" >README.md
	echo "README.md: $name is up to date again"
fi
