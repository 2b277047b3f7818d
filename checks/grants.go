package checks

import (
	"time"

	"github.com/oversell/oversell/history"
)

// Cause says how a granted key went away on the server.
type Cause string

// The causes. StillThere means that the history shows no end.
const (
	StillThere     Cause = ""
	ReleasedByOwn  Cause = "released" // by the purchase that held it
	Expired        Cause = "expired"  // its TTL ended
	DeletedByOther Cause = "deleted"  // by a release of somebody else
	LostWithServer Cause = "server"   // it was on a server that died, and not on the next one
	LostData       Cause = "data"     // its server lived, and lost it: a flush, an eviction, a jump of its clock
	NeverGranted   Cause = "never"    // no server had granted it; of a holder who believed so
	Unexplained    Cause = "unknown"  // somebody else was granted it, and the history doesn't show why
)

// KeyLoss is the end of a grant on the server.
type KeyLoss struct {
	Cause  Cause
	At     time.Duration
	By     *Purchase // whose release removed the key, when that is known
	ByInst int       // the instance that sent that release
	Server string    // the server that died or lost the key, also when the key expired after that
	// Event is the release, the death of the server, the promotion of another
	// one, or the look that found no key; nil for a mere expiry.
	Event *history.Event
	Fault *history.Event // the fault that took the key off a living server
}

// Grant is one time that a server granted the key.
type Grant struct {
	Event    *history.Event // wire.acquired
	Purchase *Purchase      // nil when it isn't known
	Expires  bool           // the key has a TTL, as far as the wire showed
	Expiry   time.Duration  // when its TTL ends; each renewal moves it
	Renewals int            // that took effect
	Loss     KeyLoss
	Next     *Grant // who was granted the same key next, nil when nobody was

	ttl     time.Duration // that the key was given last
	soonest time.Duration // when its TTL can end at the earliest: the server acted before its reply was stamped
}

// Instance is the instance to which the key was granted.
func (g *Grant) Instance() int { return g.Event.Instance }

// String names the holder.
func (g *Grant) String() string {
	if g.Purchase != nil {
		return g.Purchase.String()
	}
	return instanceName(g.Event.Instance)
}

// Ended reports whether the history shows an end of the grant.
func (g *Grant) Ended() bool { return g.Loss.Cause != StillThere }

// HeldAt reports whether the key was still there on the server at a time.
func (g *Grant) HeldAt(at time.Duration) bool {
	return g.Event.At <= at && (!g.Ended() || at < g.Loss.At)
}

// Foreign reports whether somebody else's release removed the key.
func (g *Grant) Foreign() bool { return g.Loss.Cause == DeletedByOther }
