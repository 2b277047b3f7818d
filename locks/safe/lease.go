package safe

import (
	"context"

	"github.com/oversell/oversell/locks"
)

// lease is a key that was granted.
type lease struct {
	claim claim
	dog   *locks.Watchdog // nil when the kind doesn't renew
}

// Lost is nil for a kind that doesn't renew: it never looks.
func (l *lease) Lost() <-chan struct{} {
	if l.dog == nil {
		return nil
	}
	return l.dog.Lost()
}

// Renewals is 0 for a kind that doesn't renew.
func (l *lease) Renewals() int {
	if l.dog == nil {
		return 0
	}
	return l.dog.Renewals()
}

// Release stops the watchdog, waits for it, and removes the key if it is still
// this lease's. It does so even when ctx has ended, then within a second, so
// that the key isn't left behind. Releasing twice gives ErrNotHeld.
func (l *lease) Release(ctx context.Context) error {
	if l.dog != nil {
		l.dog.End()
	}
	return releaseSurely(ctx, l.claim)
}
