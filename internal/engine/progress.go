package engine

import (
	"sync"
	"time"

	"github.com/oversell/oversell/history"
)

// Progress is a glance at a run that is going on.
type Progress struct {
	Scenario, Lock string
	Trial, Trials  int
	Phase          string // see the Phase constants
	Sold, Left     int    // units, as far as the engine has heard
	Holders        int    // purchases that hold the lock, as they believe, now
	Elapsed        time.Duration
}

// The phases of a run.
const (
	PhaseStarting  = "starting servers"
	PhaseSelling   = "selling"
	PhaseLingering = "lingering"
	PhaseHealing   = "healing"
	PhaseJudging   = "judging"
	PhaseCleaning  = "cleaning up"
)

// watcher keeps what the run loop and the progress line need to know of the
// events so far. Its see is the recorder's hook.
type watcher struct {
	mu     sync.Mutex
	p      Progress
	inside map[string]bool
	got    time.Duration // the last time that a buyer got somewhere
}

func newWatcher(p Progress) *watcher { return &watcher{p: p, inside: map[string]bool{}} }

func (w *watcher) see(e history.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case history.Acquired:
		w.inside[e.Purchase] = true
	case history.ReleaseStart, history.LostNoticed:
		delete(w.inside, e.Purchase)
	case history.InstanceExited:
		for p := range w.inside {
			if i, _, _, ok := history.ParsePurchase(p); ok && i == e.Instance {
				delete(w.inside, p)
			}
		}
	case history.Committed:
		w.p.Sold++
		w.p.Left = e.Units
		w.got = max(w.got, e.At)
	case history.SoldOut, history.BuyerDone:
		w.got = max(w.got, e.At)
	}
	w.p.Holders = len(w.inside)
}

func (w *watcher) phase(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.p.Phase = name
}

func (w *watcher) glance(elapsed time.Duration) Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.p
	p.Elapsed = elapsed
	return p
}

// lastSale is when a buyer last bought something or found nothing left.
func (w *watcher) lastSale() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got
}
