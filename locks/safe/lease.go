package safe

import "context"

// lease is a key that was granted.
type lease struct {
	hold
	dog *watchdog // nil when the kind doesn't renew
}

// Lost is nil for a kind that doesn't renew: it never looks.
func (l *lease) Lost() <-chan struct{} {
	if l.dog == nil {
		return nil
	}
	return l.dog.lost
}

// Release stops the watchdog, waits for it, and removes the key if it is still
// this lease's. It does so even when ctx has ended, then within a second, so
// that the key isn't left behind. Releasing twice gives ErrNotHeld.
func (l *lease) Release(ctx context.Context) error {
	if l.dog != nil {
		l.dog.end()
	}
	return l.releaseSurely(ctx)
}
