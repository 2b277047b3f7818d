package shoplog

import (
	"fmt"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// stockTeller replays the stock. Where sales say what they wrote, each overwrote
// what the one before it had written; where they don't, each took one unit off.
type stockTeller struct {
	initial int
	known   bool   // how many units there were at the start
	source  string // how that is known, when the log doesn't say so itself
	now     int
	written bool // sales say what they wrote
	orders  []history.Event
	lines   []line
	final   *line // the last count, when no sale came after it
}

// begin finds out how many units there were: by a count before the first sale,
// else by the mapping, else by what the first sale found.
func (s *stockTeller) begin(m Mapping, lines []line) {
	var before int // put on the shelf before anybody knew what was there
	for _, e := range lines {
		if e.kind == added {
			before += *e.units
			continue
		}
		if e.kind == counted {
			s.initial, s.known = *e.units-before, true
		}
		if e.kind == counted || e.kind == sold {
			break
		}
	}
	if !s.known && m.Stock != nil {
		s.initial, s.known = *m.Stock, true
	}
	if !s.known {
		s.deduce(lines)
	}
	s.now = s.initial
}

// deduce takes the stock from the first sale, if it says what it left.
func (s *stockTeller) deduce(lines []line) {
	var before int
	for _, e := range lines {
		if e.kind == added {
			before += *e.units
		}
		if e.kind != sold {
			continue
		}
		if e.left != nil {
			units := 1
			if e.units != nil {
				units = *e.units
			}
			s.initial, s.known = *e.left+units-before, true
			s.source = fmt.Sprintf("the log doesn't say how many units there were at the start; the first sale found %d", *e.left+units)
		}
		return
	}
}

func (s *stockTeller) added(units int) {
	s.now += units
	s.initial += units // what there was to sell in all
}

// sold commits one unit of a sale; later is how many units of it are still to come.
func (s *stockTeller) sold(t *teller, e line, id history.Event, later int) {
	before, after := s.now, s.now-1
	if e.left != nil {
		after, s.written = *e.left+later, true
	}
	s.now = after
	s.final = nil
	id.Kind, id.Before, id.Units = history.Committed, before, after
	t.event(e, 0, id)
	id.Kind, id.Before, id.Units = history.OrderFound, 0, 0
	s.orders, s.lines = append(s.orders, id), append(s.lines, e)
}

func (s *stockTeller) counted(t *teller, e line) {
	if t.sales > 0 {
		s.final = &e
	}
}

// end lists the orders and what was left.
func (s *stockTeller) end(t *teller, last line) {
	if t.sales == 0 || !s.known {
		return
	}
	for i, o := range s.orders {
		at := s.lines[i]
		at.at = last.at
		t.event(at, 0, o)
	}
	left := max(0, s.initial-len(s.orders))
	switch {
	case s.final != nil:
		left = *s.final.units
		last.n = s.final.n
	case s.written:
		left = s.now
	}
	t.event(last, 0, history.Event{Kind: history.StockCounted, Units: left, Count: len(s.orders)})
}

// doubts are what the log doesn't say. What that leaves open is inconclusive;
// what merely narrows the question is said.
func (t *teller) doubts() {
	say := func(p result.Property, v result.Verdict, format string, args ...any) {
		t.story.Doubts = append(t.story.Doubts, result.Finding{Property: p, Verdict: v, Text: fmt.Sprintf(format, args...), Events: []int64{}})
	}
	sells, locks := len(t.m.Events.Sold) > 0, len(t.m.Events.Acquired) > 0
	switch {
	case !sells:
		say(result.Reconciliation, result.OK, "the mapping names no sales: the stock wasn't judged")
	case t.sales == 0:
		say(result.Reconciliation, result.Inconclusive, "no line of the log is a sale")
	case !t.stock.known:
		say(result.Reconciliation, result.Inconclusive, "the log doesn't say how many units there were at the start: map a count of the stock, or say stock in the mapping")
	default:
		if t.stock.source != "" {
			say(result.Reconciliation, result.OK, "%s", t.stock.source)
		}
		if t.stock.final == nil && !t.stock.written {
			say(result.Reconciliation, result.OK, "the log doesn't say what was left: judged is only whether more was sold than there was")
		}
	}
	switch {
	case !locks:
		say(result.Exclusion, result.OK, "the mapping names no acquisitions: the lock wasn't judged")
	case t.locks == 0:
		say(result.Exclusion, result.Inconclusive, "no line of the log is an acquisition")
	case t.unended > 0:
		say(result.Exclusion, result.OK, "%s of %d without an end in the log: taken to be over at the last event of its holder", plural(t.unended, "acquisition"), t.locks)
	}
}
