// Package retrace goes over a history again and draws up its timeline, as
// reports show it.
package retrace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// Timeline draws up a history's timeline, within a budget. findings are what
// judging it came to; without them only units too many and what was withstood
// are told. It accepts any events at all.
func Timeline(h history.History, findings result.Run, b timeline.Budget) *timeline.Timeline {
	d := &drawing{
		c:       checks.Reconstruct(h),
		verdict: findings,
		out:     &timeline.Timeline{Plan: h.Plan},
		byN:     make(map[int64]*history.Event, len(h.Events)),
	}
	for i := range h.Events {
		d.byN[h.Events[i].N] = &h.Events[i]
	}
	d.frame()
	d.faults()
	d.lanes()
	d.keys()
	d.stock()
	d.overlaps()
	d.violations()
	d.rows()
	out := d.out.Thin(b)
	for i := range out.Events { // words are made for those alone that stay
		row := &out.Events[i]
		row.Text = rowText(d.byN[row.N])
	}
	return out
}

// drawing is a timeline under way.
type drawing struct {
	c       *checks.Timeline
	verdict result.Run
	out     *timeline.Timeline
	byN     map[int64]*history.Event
}

// frame reads what bounds everything else, and what stands by itself.
func (d *drawing) frame() {
	t := d.out
	t.Span = timeline.Span{To: d.c.Last()}
	for _, e := range d.c.Events {
		switch e.Kind {
		case history.LoadStarted:
			t.Load = timeline.Span{From: d.c.Start, To: d.c.End}
		case history.LoadEnded:
			t.LoadPhase = e.Phase
		case history.RunFailed:
			t.Failed = e.Err
		case history.ServerRole:
			t.Roles = append(t.Roles, timeline.Mark{At: e.At, Text: e.Server + " " + e.Text, Event: e.N})
		case history.ServerSampled:
			t.Samples = append(t.Samples, timeline.Sample{At: e.At, Values: figures(e.Info)})
		}
	}
}

func figures(info map[string]any) map[string]float64 {
	out := make(map[string]float64, len(info))
	for name, v := range info {
		switch n := v.(type) {
		case float64:
			out[name] = n
		case int64:
			out[name] = float64(n)
		case int:
			out[name] = float64(n)
		}
	}
	return out
}

// faults gives every injection its time: from when the act began until it was
// over, or healed.
func (d *drawing) faults() {
	open := map[int][]int{} // by step, those that nobody has healed yet
	for _, e := range d.c.Events {
		switch e.Kind {
		case history.FaultInjected, history.FaultFailed:
			f := timeline.Fault{Name: e.Fault, Text: e.Text, Instance: e.Instance, Event: e.N}
			f.Span = timeline.Span{From: d.actBegan(e), To: e.At}
			if e.Kind == history.FaultFailed {
				f.Failed, f.Text = true, e.Err
			} else {
				open[e.Step] = append(open[e.Step], len(d.out.Faults))
			}
			d.out.Faults = append(d.out.Faults, f)
		case history.FaultHealed:
			for _, i := range open[e.Step] {
				d.out.Faults[i].To = max(d.out.Faults[i].To, e.At)
			}
			delete(open, e.Step)
		}
	}
	slices.SortStableFunc(d.out.Faults, func(a, b timeline.Fault) int { return cmp.Compare(a.From, b.From) })
}

// actBegan is when a fault's act began. Older histories don't say: there, one
// done to a purchase within its call began with the call.
func (d *drawing) actBegan(e *history.Event) time.Duration {
	if e.Took > 0 {
		return max(0, e.At-e.Took)
	}
	p := d.c.Purchase(e.Purchase)
	if p != nil && p.CallStart != nil && p.CallStart.At <= e.At && (p.CallEnd == nil || p.CallEnd.At >= e.At) {
		return p.CallStart.At
	}
	return e.At
}

// lanes draws a lane for every instance.
func (d *drawing) lanes() {
	lanes := map[int]*timeline.Lane{}
	lane := func(id int) *timeline.Lane {
		if lanes[id] == nil {
			lanes[id] = &timeline.Lane{Instance: id}
		}
		return lanes[id]
	}
	for i := range d.c.Plan.Instances {
		if d.out.Load.Len() > 0 && i < maxLanes {
			lane(i + 1)
		}
	}
	orders := d.orders()
	for _, p := range d.c.Purchases {
		if p.Held() || p.Hold != nil && p.Hold.Enough() {
			l := lane(p.Instance)
			l.Holds = append(l.Holds, d.hold(p, orders))
		}
	}
	for _, h := range d.c.Holds {
		if h.Purchase == nil && h.Enough() {
			l := lane(h.Instance())
			l.Holds = append(l.Holds, timeline.Hold{Server: d.onServers(h), Unheard: true, Event: h.Grants[0].Event.N})
		}
	}
	for _, e := range d.c.Events {
		if e.Kind == history.MachineStalled && e.Instance > 0 {
			l := lane(e.Instance)
			l.Pauses = append(l.Pauses, timeline.Pause{Span: timeline.Span{From: max(0, e.At-e.Took), To: e.At}, Fault: e.Fault, Event: e.N})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lanes)) {
		l := lanes[id]
		if e := d.c.Death(id); e != nil {
			l.Died = &timeline.Mark{At: e.At, Text: e.Text, Event: e.N}
		}
		l.Arrange()
		d.out.Lanes = append(d.out.Lanes, *l)
	}
}

// maxLanes bounds the lanes of instances that never did anything.
const maxLanes = 200

// orders are the commits by the purchase that made them.
func (d *drawing) orders() map[*checks.Purchase]checks.Commit {
	orders := make(map[*checks.Purchase]checks.Commit, len(d.c.Commits))
	for _, c := range d.c.Commits {
		if c.Purchase != nil {
			orders[c.Purchase] = c
		}
	}
	return orders
}

func (d *drawing) hold(p *checks.Purchase, orders map[*checks.Purchase]checks.Commit) timeline.Hold {
	h := timeline.Hold{Buyer: p.Buyer}
	if p.Held() {
		h.Span = timeline.Span{From: p.From, To: min(p.Until, d.c.Last())}
	}
	for _, e := range []*history.Event{p.Answer, p.Asked} {
		if e != nil {
			h.Event = e.N
			break
		}
	}
	if p.Hold != nil && p.Hold.Enough() {
		h.Server = d.onServers(p.Hold)
		h.Unheard = !p.Held()
		if g := p.Hold.Decisive(); g != nil && g.Loss.Cause != checks.ReleasedByOwn {
			h.End, h.Early = endWords(g), p.Held() && g.Loss.At < p.Until
		}
	}
	if c, ok := orders[p]; ok {
		h.Order, h.Outcome = c.Order, timeline.Sold
		if c.Stale() {
			h.Outcome = timeline.Stale
		}
	}
	if e := p.Commit; e != nil {
		h.Commit = &timeline.Mark{At: e.At, Text: rowText(e), Event: e.N}
		switch {
		case e.Kind == history.CommitRefused:
			h.Outcome = timeline.Refused
		case e.Kind == history.CommitUnknown && h.Outcome == timeline.None:
			h.Outcome = timeline.Unknown
		}
	}
	return h
}

// onServers is the time within which enough servers had the key.
func (d *drawing) onServers(h *checks.Hold) timeline.Span {
	s := timeline.Span{From: h.At(), To: d.c.Last()}
	if g := h.Decisive(); g != nil {
		s.To = max(s.From, g.Loss.At)
	}
	return s
}
