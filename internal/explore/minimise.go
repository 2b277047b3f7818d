package explore

import "slices"

// minimise leaves out of a schedule what isn't needed to break p: first all
// behind the point where it is broken, then one event after the other, until
// none can be left out.
func minimise(cfg Config, c Case, p Property, evs []event) ([]event, error) {
	cfg.Workers = 1
	tm := &team{cfg: cfg, c: c, halt: func() {}}
	var small []event
	err := tm.work(func(k *worker) error {
		best, broke, err := k.tryOut(p, evs)
		if err != nil || !broke {
			return err
		}
		for again := true; again; {
			again = false
			for i := len(best) - 1; i >= 0; i-- {
				if i >= len(best) {
					continue
				}
				less, broke, err := k.tryOut(p, slices.Delete(slices.Clone(best), i, i+1))
				if err != nil {
					return err
				}
				if broke && len(less) < len(best) {
					best, again = less, true
				}
			}
		}
		small = best
		return nil
	})
	return small, err
}

// tryOut plays those of the events that can happen, and goes on by itself when
// they are over, and returns what it has played up to the point where p is broken.
func (k *worker) tryOut(p Property, evs []event) (played []event, broke bool, err error) {
	w := k.w
	w.begin()
	next := func(list []event) (event, bool) {
		for len(evs) > 0 {
			ev := evs[0]
			evs = evs[1:]
			if slices.Contains(list, ev) {
				return ev, true
			}
		}
		for _, ev := range list {
			if hazardOf[ev.act()] < 0 {
				return ev, true
			}
		}
		return 0, false
	}
	for len(played) < maxEvents {
		k.beat.Add(1)
		list := w.enabled(nil)
		if w.outcome.broke(p) || len(list) == 0 && w.scene().conclude().broke(p) {
			broke = true
			break
		}
		ev, ok := next(list)
		if !ok {
			break
		}
		w.apply(ev)
		played = append(played, ev)
	}
	if w.trouble != nil {
		err = w.trouble
	}
	if e := w.end(); err == nil {
		err = e
	}
	return played, broke, err
}
