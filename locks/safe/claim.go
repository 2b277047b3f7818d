package safe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/locks"
)

// claim is what one acquirer has on a key, whether or not it has come true: a
// hold on one server, or a quorum of five. It carries a token that no other
// claim has, so that comparing it tells whose the key is.
type claim interface {
	// set takes the key if it is free; false means that it certainly isn't ours.
	set(ctx context.Context) (bool, error)
	// renew prolongs the key; false means that it is someone else's or gone.
	renew(ctx context.Context) (bool, error)
	// release removes the key if it is ours, else returns ErrNotHeld. It is for
	// whatever set returned, an error included.
	release(ctx context.Context) error
	// life is for how long the key is surely ours after a set or renew that
	// worked, counted from before its first command was sent.
	life() time.Duration
}

// grace bounds what is done for a caller whose own context has ended.
const grace = time.Second

// releaseSurely releases even when ctx has ended or ends on the way, then
// within grace, so that the key isn't left behind to block others for a TTL.
func releaseSurely(ctx context.Context, c claim) error {
	var first error
	if ctx.Err() == nil {
		first = c.release(ctx)
		if released(first) || ctx.Err() == nil {
			return first
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := c.release(ctx)
	if first != nil && errors.Is(err, locks.ErrNotHeld) {
		// The first try may have been what removed it.
		return fmt.Errorf("gone, perhaps by the try that failed: %w", first)
	}
	return err
}

// released reports whether the answer to a release leaves no doubt: the key is
// certainly not ours any more.
func released(err error) bool { return err == nil || errors.Is(err, locks.ErrNotHeld) }
