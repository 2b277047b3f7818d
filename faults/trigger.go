package faults

import (
	"fmt"
	"time"
)

// Point is a place in a purchase at which a trigger can stand.
type Point string

// The points, in the order in which a purchase reaches them. "Acquire",
// "renew" and "release" are roles that the wire tells from the command, so a
// point means the same for every lock kind and for programs in any language.
const (
	// Acquired: the reply that grants the key has left the server and hasn't
	// reached the instance.
	Acquired Point = "acquired"
	// Called: the purchase has its fencing token, has read the stock, and its
	// business call begins.
	Called Point = "called"
	// Overtaking: as Called, while another purchase is still inside a call that
	// a fault has slowed down; reached once per slowed call.
	Overtaking Point = "overtaking"
	// Committing: the purchase has looked at its lock for the last time, and its
	// write comes next.
	Committing Point = "committing"
	// Renewing: a renewal has been sent and hasn't reached the server.
	Renewing Point = "renewing"
	// Releasing: a release has been sent and hasn't reached the server. One that
	// follows a refused attempt to acquire doesn't count.
	Releasing Point = "releasing"
	// Released: the reply to a release that removed the key has left the server
	// and hasn't reached the instance.
	Released Point = "released"
	// Holding: any command of a holder on its key, an expiry, a renewal or a
	// release, has been sent and hasn't reached the server.
	Holding Point = "holding"
)

// Points lists every point.
func Points() []Point {
	return []Point{Acquired, Called, Overtaking, Committing, Renewing, Releasing, Released, Holding}
}

// Summary says in one line when a purchase reaches p.
func (p Point) Summary() string {
	switch p {
	case Acquired:
		return "the reply that grants the key has left the server and hasn't reached the instance"
	case Called:
		return "the purchase has its fencing token, has read the stock, and its business call begins"
	case Overtaking:
		return "as called, while another purchase is still inside a call that a fault has slowed down; once per slowed call"
	case Committing:
		return "the purchase has looked at its lock for the last time, and its write comes next"
	case Renewing:
		return "a renewal has been sent and hasn't reached the server"
	case Releasing:
		return "a release has been sent and hasn't reached the server"
	case Released:
		return "the reply to a release that removed the key has left the server and hasn't reached the instance"
	case Holding:
		return "any command of a holder on its key, an expiry, a renewal or a release, has been sent and hasn't reached the server"
	}
	return ""
}

// Trigger says when a step is played.
type Trigger struct {
	At    time.Duration // at a time since the load began, when Point is ""
	Point Point
	Nth   int // the n-th time that the point is reached; 0 means 1
	Every int // and every so many times after; 0 means once. With Nth 0: at Every, 2 x Every, ...
	// After is the number of an earlier step (1, 2, ...): only moments after it
	// was injected count. During is the same from the beginning of its injection
	// on. 0 for none.
	After, During int
}

// Due reports whether the n-th time (1, 2, ...) that the trigger's point is
// reached is one at which its step is played.
func (w Trigger) Due(n int) bool {
	switch {
	case w.Every == 0:
		return n == max(w.Nth, 1)
	case w.Nth == 0:
		return n%w.Every == 0
	default:
		return n >= w.Nth && (n-w.Nth)%w.Every == 0
	}
}

// String says it in words: "called, every 20th time".
func (w Trigger) String() string {
	if w.Point == "" {
		return fmt.Sprintf("%s after the load began", w.At)
	}
	s := string(w.Point)
	switch {
	case w.Every == 1:
		s += ", every time"
	case w.Every > 1:
		s += fmt.Sprintf(", every %s time", ordinal(w.Every))
		if w.Nth > 0 {
			s += fmt.Sprintf(" from the %s on", ordinal(w.Nth))
		}
	default:
		s += fmt.Sprintf(", the %s time", ordinal(max(w.Nth, 1)))
	}
	if w.After > 0 {
		s += fmt.Sprintf(" after step %d", w.After)
	}
	if w.During > 0 {
		s += fmt.Sprintf(" since step %d began", w.During)
	}
	return s
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
