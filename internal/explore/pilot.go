package explore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/oversell/oversell/internal/hint"
)

// maxEvents bounds one schedule.
const maxEvents = 400

// pilot plays a few schedules to learn which values are constants and which
// scripts servers have cached, and to find out whether the lock can be explored.
func (w *world) pilot() error {
	c := w.c
	defer func() { w.c = c }()
	w.c.Stock = len(w.buyers)
	w.learn, w.learned, w.drawsValues = true, map[string]lesson{}, true
	for i, p := range []struct {
		hazards []Budget
		choose  func(evs []event, taken int) int
		sells   bool
	}{
		{nil, firstBuyerFirst, true},
		{nil, firstBuyerFirst, true}, // once more: what is random is another value now
		{nil, lastBuyerFirst, true},
		{[]Budget{{SlowCall, 1}}, timeFirst, false},
		{[]Budget{{SlowCall, 1}}, timeOrLastFirst, false},
		{[]Budget{{LostReply, 1}}, loseFirst, false},
		{[]Budget{{LostReply, 1}}, loseSecond, false},
	} {
		w.flight = i
		w.c.Hazards, w.c.Faults, w.c.Preemptions = p.hazards, 0, -1
		switch err := w.play(p.choose); {
		case errors.Is(err, errSilent):
			return w.neverGrants()
		case err != nil:
			return err
		}
		if p.sells && len(w.shelf.orders) == 0 {
			return w.neverGrants()
		}
		if err := w.leftBehind(); err != nil {
			return err
		}
	}
	w.learn = false
	w.drawsValues = w.hasDrawnValues()
	w.loadScripts()
	if !w.plain {
		w.memo = newMemo(w.scripts)
	}
	return nil
}

// leftBehind ends the schedule, and looks whether anything of the lock goes on.
func (w *world) leftBehind() error {
	if err := w.end(); err != nil {
		return err
	}
	before := w.strays
	w.sleep(2*w.c.TTL, func() bool { return false })
	w.fresh = w.fresh || w.strays != before
	return nil
}

// play runs one schedule.
func (w *world) play(choose func(evs []event, taken int) int) error {
	w.begin()
	var evs []event
	for n := 0; n < maxEvents; n++ {
		if evs = w.enabled(evs[:0]); len(evs) == 0 {
			break
		}
		w.apply(evs[choose(evs, n)])
		w.beat.Add(1)
	}
	return w.trouble
}

// errSilent is what fails a schedule in which a buyer asks for the lock again and
// again, and nothing is sent.
var errSilent = errors.New("explore: it asks again and again without sending a command")

// maxSilent is how many events of a buyer may follow each other without a command.
const maxSilent = 2000

// neverGrants says what a lock did that nobody got although it was free.
func (w *world) neverGrants() error {
	var says string
	for _, b := range w.buyers {
		if b.lastErr != "" {
			says = b.lastErr
		}
	}
	switch {
	case strings.Contains(says, "dial tcp") || strings.Contains(says, nowhereHost):
		return hint.Wrap(fmt.Errorf("%s opens connections of its own: %s", w.c.Kind.Name, says),
			"use the clients, or the Dial, that New is given")
	case says != "":
		return fmt.Errorf("%s never grants: a buyer without any rival didn't get it: %s", w.c.Kind.Name, says)
	}
	return fmt.Errorf("%s never grants: a buyer without any rival didn't get it", w.c.Kind.Name)
}

func firstBuyerFirst([]event, int) int { return 0 }

func lastBuyerFirst(evs []event, _ int) int {
	best := 0
	for i, e := range evs {
		if e.buyer() > evs[best].buyer() {
			best = i
		}
	}
	return best
}

func timeFirst(evs []event, _ int) int {
	for i, e := range evs {
		if e.act() == pass {
			return i
		}
	}
	return 0
}

func timeOrLastFirst(evs []event, taken int) int {
	if i := timeFirst(evs, taken); evs[i].act() == pass {
		return i
	}
	return lastBuyerFirst(evs, taken)
}

func loseFirst(evs []event, _ int) int { return loseFrom(evs, 0) }

// loseSecond lets the first command of the schedule pass.
func loseSecond(evs []event, taken int) int {
	if taken == 0 {
		return 0
	}
	return loseFrom(evs, 0)
}

func loseFrom(evs []event, other int) int {
	for i, e := range evs {
		if e.act() == loseReply {
			return i
		}
	}
	return other
}

// lesson is who has sent a value, and in which of the schedules.
type lesson struct {
	b      *buyer
	flight int
	again  bool // in the second too, which is like the first
}

// learnFrom notes who sends which value.
func (w *world) learnFrom(b *buyer, p *pending) {
	for _, args := range p.batch {
		if name := strings.ToUpper(args[0]); len(args) > 1 && (name == "EVAL" || name == "EVALSHA") {
			w.constants[args[1]] = true // a script and its digest are no secrets
		}
		for _, a := range args[1:] {
			switch first := w.learned[a]; first.b {
			case nil:
				w.learned[a] = lesson{b: b, flight: w.flight}
			case b:
				if first.again = first.again || first.flight == 0 && w.flight == 1; first.again {
					w.learned[a] = first
				}
			default:
				w.constants[a] = true
			}
		}
	}
}

// hasDrawnValues reports whether a buyer came up with the same value in two
// schedules, which no other has sent: then it isn't any random value, but drawn
// from the Rand of the lock's options.
func (w *world) hasDrawnValues() bool {
	for a, l := range w.learned {
		if l.again && w.isRandom(a) {
			return true
		}
	}
	return false
}
