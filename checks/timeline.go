package checks

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/oversell/oversell/history"
)

// Timeline is a history put in order: who bought what, who held the key on the
// server when, and how the stock moved. It points into the history that it was
// made from and changes nothing there. It isn't safe for concurrent use.
type Timeline struct {
	History   history.History // that it was made from
	Plan      history.Plan
	Events    []*history.Event // by time; at the same time, in the order of the file
	Purchases []*Purchase      // in the order in which they first appear
	Grants    []*Grant         // in the order in which the servers granted them
	Holds     []*Hold          // each put together from its grants, by the first of them
	Commits   []Commit         // in commit order
	Due       []*history.Event // fault.due
	Faults    []*history.Event // fault.injected

	// Start and End are the times between which the load ran. Without such
	// events they are the times of the first and of the last event.
	Start, End time.Duration
	LoadEnded  *history.Event // nil when there is none
	Counted    *history.Event // the last stock.counted, nil when there is none
	Orders     []*history.Event

	last  time.Duration
	byID  map[string]*Purchase
	found *[]Trace // once they were asked for
	exits map[int][]*history.Event
}

// Reconstruct puts a history in order. It accepts any events at all: what
// makes no sense is left out, never guessed.
func Reconstruct(h history.History) *Timeline {
	t := &Timeline{
		History: h, Plan: h.Plan,
		Events: byTime(h.Events),
		byID:   make(map[string]*Purchase),
		exits:  make(map[int][]*history.Event),
	}
	t.readMarks()
	t.readPurchases()
	t.readGrants()
	t.readCommits()
	return t
}

// byTime sorts pointers to the events and leaves the events where they are.
// Events come from several processes, each stamped where it happened, so a
// file is only roughly in order of time.
func byTime(events []history.Event) []*history.Event {
	sorted := make([]*history.Event, len(events))
	for i := range events {
		sorted[i] = &events[i]
	}
	earlier := func(a, b *history.Event) int { return cmp.Compare(a.At, b.At) }
	if !slices.IsSortedFunc(sorted, earlier) {
		slices.SortStableFunc(sorted, earlier)
	}
	return sorted
}

// readMarks picks out the events that frame everything else.
func (t *Timeline) readMarks() {
	if len(t.Events) == 0 {
		return
	}
	t.Start = t.Events[0].At
	t.last = t.Events[len(t.Events)-1].At
	t.End = t.last
	var started *history.Event
	for _, e := range t.Events {
		switch e.Kind {
		case history.LoadStarted:
			if started == nil {
				started, t.Start = e, e.At
			}
		case history.LoadEnded:
			if t.LoadEnded == nil {
				t.LoadEnded, t.End = e, e.At
			}
		case history.StockCounted:
			t.Counted = e
		case history.InstanceExited:
			t.exits[e.Instance] = append(t.exits[e.Instance], e)
		case history.FaultDue:
			t.Due = append(t.Due, e)
		case history.FaultInjected:
			t.Faults = append(t.Faults, e)
		case history.OrderFound:
			t.Orders = append(t.Orders, e)
		}
	}
	// Orders were read one after the other, after the load: the order of the
	// file is the order of the commits, whatever their stamps say.
	slices.SortFunc(t.Orders, func(a, b *history.Event) int { return cmp.Compare(a.N, b.N) })
}

// Purchase returns the purchase of that id, or nil.
func (t *Timeline) Purchase(id string) *Purchase { return t.byID[id] }

// exitAfter is the first exit of the instance at or after a time, or nil.
func (t *Timeline) exitAfter(instance int, at time.Duration) *history.Event {
	exits := t.exits[instance]
	i := sort.Search(len(exits), func(i int) bool { return exits[i].At >= at })
	if i == len(exits) {
		return nil
	}
	return exits[i]
}

// Death returns the event of an instance that ended while the load was still
// running, planned or not, or nil. Instances that are told to stop exit after
// the load has ended.
func (t *Timeline) Death(instance int) *history.Event {
	exits := t.exits[instance]
	if len(exits) > 0 && (t.LoadEnded == nil || exits[0].At < t.End) {
		return exits[0]
	}
	return nil
}

// Sold is the number of orders in the inventory: as counted, else as listed,
// else as far as the instances knew.
func (t *Timeline) Sold() int {
	if t.Counted != nil {
		return t.Counted.Count
	}
	return len(t.Commits)
}

// Left is the stock in the inventory: as counted, else as the last commit left it.
func (t *Timeline) Left() int {
	switch {
	case t.Counted != nil:
		return t.Counted.Units
	case len(t.Commits) > 0:
		return t.Commits[len(t.Commits)-1].After
	default:
		return t.Plan.Stock
	}
}
