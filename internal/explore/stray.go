package explore

// Which goroutine of a lock's own is first isn't controlled: where two of them run at
// the same moment, chance decides. A lock of which one is meant to be first, and in one
// of a hundred thousand schedules isn't, goes another way there. That is a way that it
// can go, and nothing for which all else should be given up: the schedule is played
// again, and when the lock then goes as before each time, the stray is counted and told,
// and exploring goes on with what it usually does.

const (
	recalls     = 3    // how often a schedule is played again after a stray
	fewStrays   = 3    // so many are nothing
	rareAsStray = 1000 // of more, each must be one of so many schedules
)

// goneAstray is called where the lock hasn't come to what it has before, on its way along an
// edge that the caller may have taken to explore.
func (k *worker) goneAstray(from int32, on way, ev event) error {
	is := k.divergence(k.path, len(k.path))
	_ = k.w.end()
	for range recalls {
		if !k.goesAsBefore(ev, on.key) {
			return k.diverged(k.path, len(k.path))
		}
		if usual := k.w.describe(); usual != is.Now {
			is.Before = usual
		}
		if err := k.w.end(); err != nil {
			return err
		}
	}
	if k.g.stray(from, on) {
		return is
	}
	k.strayed.CompareAndSwap(nil, is)
	return nil
}

// goesAsBefore plays the present schedule again, and reports whether the lock comes to
// the state from which it was to go on.
func (k *worker) goesAsBefore(ev event, key view) bool {
	k.w.begin()
	return k.goAlong(k.path, func() {}) && k.w.has(ev) && k.w.stateAs(k.as.back()) == key
}

// stray counts one, and gives back the edge that was to be explored. It reports whether
// there are too many by now.
func (g *graph) stray(from int32, on way) (often bool) {
	g.lock()
	defer g.unlock()
	if !on.known {
		n := &g.nodes[from]
		g.of(n)[on.at].to = unexplored
		n.open++
		g.open++
	}
	g.busy--
	g.strays++
	return g.strays > fewStrays && g.strays*rareAsStray > g.runs
}
