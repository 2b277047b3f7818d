// Package safe holds locks that hold what they claim. What they don't claim to
// withstand still breaks them.
//
// They expect clients with MaxRetries -1, because go-redis then never repeats a
// command by itself. A repeated SET NX whose first reply was lost answers "not
// acquired" for a lock that is ours. They also expect ContextTimeoutEnabled:
// without it a command ignores its deadline and is bounded by the client's
// ReadTimeout alone. Cancelling never interrupts a command that has been sent.
package safe

import "github.com/oversell/oversell/locks"

// All lists the safe kinds.
func All() []locks.Kind {
	return []locks.Kind{
		luaRelease(),
		luaWatchdog(),
		redlockWatchdog(),
		nativeCAS(),
		tairCASCAD(),
		fenced(),
		fencedRedlock(),
	}
}
