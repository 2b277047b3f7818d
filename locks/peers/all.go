// Package peers puts published lock libraries to the same test, unmodified and
// through thin adapters. Each is configured as its documentation says; where it
// leaves something to its user, the adapter does what a careful user would, and
// its comments say so.
package peers

import "github.com/oversell/oversell/locks"

// All lists the peers.
func All() []locks.Kind {
	return []locks.Kind{
		redsyncKind(false),
		redsyncKind(true),
		redislockKind(false),
		redislockKind(true),
		rueidislockKind(),
	}
}
