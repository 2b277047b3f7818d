package main

import (
	"strings"

	"github.com/oversell/oversell/internal/hint"
)

// nearest returns the name closest to word, or "" when none is close enough
// to be what was meant.
func nearest(word string, names []string) string {
	word = strings.ToLower(word)
	best, least := "", max(2, len(word)/2)+1
	for _, name := range names {
		lower := strings.ToLower(name)
		d := distance(word, lower)
		// A part of a name counts as a near miss: "failover" means "sentinel-failover".
		if len(word) >= 3 && strings.Contains(lower, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace or swap with
// their neighbour to turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// unknown is the usage error for a word that isn't among names: what is a
// "scenario", "value of --backend" and so on.
func unknown(what, word string, names []string) error {
	err := usagef("unknown %s %q", what, word)
	if near := nearest(word, names); near != "" {
		return hint.Wrap(err, "did you mean %q?", near)
	}
	return hint.Wrap(err, "choose from %s", strings.Join(names, ", "))
}
