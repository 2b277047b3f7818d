package explore

import (
	"errors"
	"fmt"
	"slices"
)

// Replay plays a schedule in a bubble and returns what happened in it. When it
// doesn't break its property there, the error says so.
func Replay(cfg Config, c Case, s Schedule) (*Counterexample, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	evs, err := s.events()
	if err != nil {
		return nil, err
	}
	x, err := playBack(cfg, c.WithDefaults(), s.Property, evs)
	if err != nil { // it may be of an exploration in which nothing was shed
		cfg.noShed = true
		if again, no := playBack(cfg, c.WithDefaults(), s.Property, evs); no == nil {
			x, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	x.Shortest = s.Shortest
	return x, nil
}

var errHolds = errors.New("the lock may have changed since, or depend on something that isn't controlled")

// Repaired reports whether an error of Replay's says that the lock isn't broken by the
// schedule: it goes another way, or comes to nothing bad at its end.
func Repaired(err error) bool {
	var differs *NondeterminismError
	return errors.Is(err, errHolds) || errors.As(err, &differs)
}

// playBack plays events twice, and tells the first time. When the second time
// goes another way, the lock depends on something that isn't controlled.
func playBack(cfg Config, c Case, p Property, evs []event) (*Counterexample, error) {
	cfg.Workers = 1
	tm := &team{cfg: cfg, c: c, halt: func() {}}
	x := &Counterexample{Property: p, Case: c, events: evs}
	err := tm.work(func(k *worker) error {
		k.w.keep = true
		defer func() { k.w.keep = false }()
		first, err := k.playAll(p, evs)
		if err != nil {
			return err
		}
		x.Steps, x.Tale = k.w.tell()
		x.Tale = append(x.Tale, k.w.moral(p))
		if err := k.w.end(); err != nil {
			return err
		}
		second, err := k.playAll(p, evs)
		if err != nil {
			return err
		}
		for i := range first {
			if first[i] != second[i] {
				return k.diverged(evs, i)
			}
		}
		return k.w.end()
	})
	return x, err
}

// playAll plays events and returns the state after each of them.
func (k *worker) playAll(p Property, evs []event) ([]view, error) {
	k.w.begin()
	var states []view
	for i, ev := range evs {
		if !slices.Contains(k.w.enabled(nil), ev) {
			return nil, k.diverged(evs, i)
		}
		k.w.apply(ev)
		k.beat.Add(1)
		if err := k.w.trouble; err != nil {
			_ = k.w.end()
			return nil, err
		}
		states = append(states, k.w.state())
	}
	k.w.enabled(nil)
	if !k.w.outcome.broke(p) && !k.w.scene().conclude().broke(p) {
		_ = k.w.end()
		return nil, fmt.Errorf("%s isn't %s at the end of this schedule: %w", k.w.c.Kind.Name, p, errHolds)
	}
	return states, nil
}

// moral is the last sentence of the tale.
func (w *world) moral(p Property) string {
	switch p {
	case Oversold:
		return fmt.Sprintf("Oversold: %d orders for a stock of %d.", len(w.shelf.orders), w.c.Stock)
	case Mismatch:
		return fmt.Sprintf("Mismatch: %d orders and %d left of %d.", len(w.shelf.orders), w.shelf.units, w.c.Stock)
	case Stalled:
		var who string
		for _, b := range w.buyers {
			if b.alive() {
				if who != "" {
					who += " and "
				}
				who += letter(b.n)
			}
		}
		return fmt.Sprintf("Stalled: %s waits for ever, with a stock of %d left.", who, w.shelf.units)
	}
	return "A buyer has removed a lock that wasn't its own."
}
