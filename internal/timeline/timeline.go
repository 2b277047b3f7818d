// Package timeline holds what happened in a run as reports draw it: lanes of
// intervals on one axis of time, and violations told in words. It is data only;
// whoever has a history fills it.
package timeline

import (
	"time"

	"github.com/oversell/oversell/history"
)

// Span is a time from From until just before To, both since the run's start.
type Span struct{ From, To time.Duration }

// Len is how long it is.
func (s Span) Len() time.Duration { return s.To - s.From }

// Meets reports whether the two have a moment in common; a span without length
// has its one moment.
func (s Span) Meets(o Span) bool { return s.From <= o.To && o.From <= s.To }

// Timeline is one run.
type Timeline struct {
	Plan       history.Plan
	Span               // from 0 to the last event
	Load       Span    // within which buyers bought; empty when they never did
	LoadPhase  string  // how it ended: "done", "sold out", "stalled", "interrupted", "" when the history doesn't say
	Failed     string  // why the run came to no verdict, "" when it did
	Truncated  bool    // the history ends in the middle of a line
	Faults     []Fault // in order of time
	Lanes      []Lane  // instance 1, 2, ...
	Overlaps   []Overlap
	Keys       []KeyLane // the lock's key on the servers; of a quorum, a lane for each server
	Roles      []Mark    // what became of servers, such as "replica-1 promoted"
	Stock      []Level   // after each commit, in order of time
	Violations []Violation
	Samples    []Sample // what a dashboard of the server showed
	Events     []Row
	Thinned    *Thinning // nil when everything is there
}

// Fault is one planned act, from its beginning to when it was over or healed.
type Fault struct {
	Span
	Name     string
	Text     string // its proof, or why there is none
	Failed   bool
	Instance int
	Event    int64
}

// Lane is one instance.
type Lane struct {
	Instance int
	Rows     int // how many lines its holds need so that none covers another
	Holds    []Hold
	Pauses   []Pause
	Died     *Mark // the process ended while others were still buying
}

// Outcome says what became of the commit of whoever held the lock.
type Outcome string

// The outcomes. None is that of a purchase that never committed.
const (
	None    Outcome = ""
	Sold    Outcome = "sold"
	Stale   Outcome = "stale"   // sold over a stock that it hadn't read
	Refused Outcome = "refused" // by the fence
	Unknown Outcome = "unknown"
)

// Hold is one purchase's time with the lock.
type Hold struct {
	Span            // as the holder believed it; empty when it never heard of the grant
	Server  Span    // as the servers had it; empty when the wire didn't show it
	End     string  // why the servers no longer had it, when it wasn't the holder's own release
	Early   bool    // that was while the holder believed to have it
	Buyer   int     // 0 when it isn't known
	Row     int     // from 0
	Commit  *Mark   // nil when there was none
	Outcome Outcome // of the commit
	Order   int     // from 1; 0 for none
	Event   int64   // to which one looks for more
	Many    int     // more than 0: stands for so many, one after the other
	Unheard bool    // the servers granted it and the instance never heard of it
}

// Whole is all the time that it takes on a lane.
func (h Hold) Whole() Span {
	switch {
	case h.Server == Span{}:
		return h.Span
	case h.Unheard:
		return h.Server
	}
	return Span{min(h.From, h.Server.From), max(h.To, h.Server.To)}
}

// Pause is a time in which a process ran nothing.
type Pause struct {
	Span
	Fault string // "" when nobody planned it
	Event int64
}

// Overlap is a time in which several purchases were definitely inside.
type Overlap struct {
	Span
	Text  string
	Event int64
	Many  int // more than 0: stands for so many
}

// KeyLane is the lock's key in one place.
type KeyLane struct {
	Server string // "" where the key moves on with the role of the master
	Grants []Grant
}

// Grant is one time that a server granted the key.
type Grant struct {
	Span
	Instance int
	Buyer    int           // 0 when it isn't known
	Server   string        //
	Expiry   time.Duration // when its TTL ends, as set last; 0 when it has none
	Renewals int
	End      string // how it ended
	Foreign  bool   // by somebody else's release
	Gone     bool   // by expiry or with a server, not by a release
	Event    int64
	Many     int // more than 0: stands for so many
}

// Mark is a moment with words.
type Mark struct {
	At    time.Duration
	Text  string
	Event int64
}

// Level is the stock after a commit, and what was really left: the stock at the
// start without the orders so far.
type Level struct {
	At     time.Duration
	Stock  int // as written
	Really int
	Stale  bool
	Event  int64
}

// Kind says what a violation is.
type Kind string

// The kinds. Withstood is none: something went wrong and did no harm.
const (
	TooMany   Kind = "unit too many"
	Broken    Kind = "broken"
	Withstood Kind = "withstood"
)

// Violation is one thing that went wrong, told as a chain of events.
type Violation struct {
	Span         // all of the chain
	At           time.Duration
	Kind         Kind
	Title        string
	Short        string // what happened at At, for a headline; may be empty
	Lines        []Line
	Events       []int64
	Participants []int // instances
}

// Line is a moment of a chain.
type Line struct {
	At    time.Duration // less than 0 when it has no time of its own
	Text  string
	Event int64 // 0 when there is none for it
}

// Sample is what a dashboard of the lock's server showed at a time, by the
// names of result.Info*.
type Sample struct {
	At     time.Duration
	Values map[string]float64
}

// Row is one event in words.
type Row struct {
	N        int64
	At       time.Duration
	Kind     history.Kind
	Instance int
	Buyer    int
	Text     string
}

// Harm are the violations that did harm.
func (t *Timeline) Harm() []Violation {
	var vs []Violation
	for _, v := range t.Violations {
		if v.Kind != Withstood {
			vs = append(vs, v)
		}
	}
	return vs
}
