package explore

import (
	"fmt"
	"sync"
	"testing/synctest"
	"time"
)

// end frees everybody, and returns what is wrong with the lock, if its
// goroutines don't end.
func (w *world) end() error {
	w.mu.Lock()
	w.over = true
	for p := range w.waiting {
		select {
		case p.done <- errOver:
		default:
		}
	}
	for _, b := range w.buyers {
		if b.cancel != nil {
			b.cancel()
		}
		for c := range b.conns {
			if !c.idle() && !c.excuse() {
				c.fail(errOver)
			}
		}
	}
	w.mu.Unlock()
	synctest.Wait()
	var closing sync.WaitGroup
	for _, b := range w.buyers {
		w.mu.Lock() // also before those who leave later
		done := b.done
		w.mu.Unlock()
		if b.locker != nil && done {
			w.closeLocker(&closing, b)
		}
	}
	synctest.Wait()
	return w.awaitEnd(&closing)
}

func (w *world) closeLocker(closing *sync.WaitGroup, b *buyer) {
	l := b.locker
	b.locker = nil
	closing.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.trouble = fmt.Errorf("%s panicked when it was closed: %v", w.c.Kind.Name, p)
			}
		}()
		_ = l.Close()
	})
}

// awaitEnd waits for buyers and lockers, on the fake clock.
func (w *world) awaitEnd(closing *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		w.running.Wait()
		for _, b := range w.buyers {
			if b.locker != nil {
				w.closeLocker(closing, b)
			}
		}
		closing.Wait()
		close(ended)
	}()
	t := time.NewTimer(20 * w.c.TTL)
	defer t.Stop()
	select {
	case <-ended:
		synctest.Wait()
		return nil
	case <-t.C:
		return fmt.Errorf("%s doesn't end: 20 TTLs after its context ended and its connections broke, a call of Acquire, Release or Close hasn't returned", w.c.Kind.Name)
	}
}
