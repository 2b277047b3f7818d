package explore

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// team is several workers, each in a bubble, and what watches them.
type team struct {
	cfg  Config
	c    Case
	halt func()
	beat atomic.Int64
	crew atomic.Uint64
	naps chan struct{}
	over atomic.Bool // others go on
	left atomic.Bool // goroutines of the lock wait for ever

	strayed atomic.Pointer[NondeterminismError] // an example
}

// work runs f in as many bubbles as there are workers, and returns when all
// have ended, or with a StuckError.
func (tm *team) work(f func(k *worker) error) error {
	errs := make([]error, tm.cfg.Workers)
	var all sync.WaitGroup
	done := make(chan struct{})
	tm.naps = make(chan struct{})
	go tm.giveNaps(done)
	for i := range errs {
		all.Go(func() {
			left := inBubble(tm.cfg.T, func() {
				errs[i] = tm.worker(f)
				if errs[i] != nil {
					tm.halt()
				}
			})
			if left {
				tm.left.Store(true)
			}
		})
	}
	go func() {
		all.Wait()
		close(done)
	}()
	if err := tm.watch(done); err != nil {
		tm.halt()
		return err
	}
	return worst(errs)
}

// giveNaps lets workers wait for a moment of real time: in a bubble there is none.
func (tm *team) giveNaps(done <-chan struct{}) {
	for {
		select {
		case tm.naps <- struct{}{}:
			time.Sleep(50 * time.Microsecond)
		case <-done:
			return
		}
	}
}

func (tm *team) worker(f func(k *worker) error) error {
	w, err := newWorld(tm.c)
	if err != nil {
		return err
	}
	defer w.close()
	w.inOrder = tm.cfg.inOrder
	w.beat, w.plain = &tm.beat, tm.cfg.Unreduced && !tm.cfg.recall
	if err := w.pilot(); err != nil {
		_ = w.end()
		return err
	}
	if !tm.cfg.noTurns && !w.drawsValues {
		w.turns = turnsOf(len(w.buyers), w.c.Masters)
	}
	w.forgets = !tm.cfg.noForget && !w.lingers && !w.fresh
	w.keepsVoid = tm.cfg.noShed
	if err := f(&worker{w: w, beat: &tm.beat, chance: tm.crew.Add(1) << 40, over: &tm.over, naps: tm.naps, strayed: &tm.strayed}); err != nil {
		_ = w.end()
		return err
	}
	return nil
}

// worst is the error that says most.
func worst(errs []error) error {
	var nd *NondeterminismError
	for _, err := range errs {
		if errors.As(err, &nd) {
			return nd
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
