package safe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/locks"
)

// quorum is a claim to a key on independent masters: Redlock. It is ours as
// long as a majority of them says so.
//
// Every question goes to all masters at once and is decided as soon as the
// answers allow it; one that is slow or dead holds nobody up. What comes in
// after that is looked after in the background.
type quorum struct {
	holds []hold // one for each master, without a token
	token func() string
	need  int // how many are a majority
	ttl   time.Duration
	// masters are those of the last set. Each set has a token of its own, so that
	// what one takes back in the background is never the key of the next.
	masters    []*master
	returning  *returning // of the last set, when it has failed
	background *locks.Life
}

// life is the TTL less what clocks may drift apart in that time, as the
// description of Redlock has it.
func (q *quorum) life() time.Duration { return q.ttl - q.ttl/100 - 2*time.Millisecond }

// patience is how long one master may take to grant the key: less than the TTL,
// so that dead ones leave most of it.
func (q *quorum) patience() time.Duration { return max(q.ttl/4, time.Millisecond) }

// ask lets f ask every master, in goroutines of l, and answer once for each.
func ask(l *locks.Life, masters []*master, f func(m *master, answer func(bool, error))) <-chan vote {
	votes := make(chan vote, len(masters)) // nobody may be there any more to hear the last
	for i, m := range masters {
		l.Go(func() {
			f(m, func(yes bool, err error) { votes <- vote{i, yes && err == nil, err} })
		})
	}
	return votes
}

// errSplit is why one that takes the key doesn't wait for the last masters.
var errSplit = errors.New("others have some of the masters, and the rest is silent")

// count hears votes until they decide, all have come, or ctx has ended. Where
// others have a master and a majority has answered, the rest gets as much time
// again, and split at least: who waits longer keeps half of the masters from
// everybody else, and somebody always does. A split of 0 waits.
func (q *quorum) count(ctx context.Context, votes <-chan vote, split time.Duration) (t tally, heard []vote) {
	t = tally{of: len(q.holds), need: q.need}
	began := time.Now()
	var enough <-chan time.Time
	for !t.over() {
		select {
		case v := <-votes:
			heard = append(heard, v)
			t.add(v)
			if split > 0 && enough == nil && t.no > 0 && len(heard) >= q.need {
				timer := time.NewTimer(max(split, time.Since(began)))
				defer timer.Stop()
				enough = timer.C
			}
		case <-enough:
			t.why = errSplit
			return t, heard
		case <-ctx.Done():
			t.why = locks.Ended(ctx)
			return t, heard
		}
	}
	return t, heard
}

// verdict tells every master's goroutine whether the majority was won.
func (q *quorum) verdict() (won <-chan bool, decide func(bool)) {
	c := make(chan bool, len(q.holds))
	return c, func(won bool) {
		for range q.holds {
			c <- won
		}
	}
}

// set takes the key on a majority.
func (q *quorum) set(ctx context.Context) (bool, error) {
	token := q.token()
	q.masters, q.returning = make([]*master, len(q.holds)), nil
	for i, h := range q.holds {
		h.token = token
		q.masters[i] = newMaster(h)
	}
	won, decide := q.verdict()
	// Not cut short by ctx: a majority that is just enough isn't what we want.
	own := context.WithoutCancel(ctx)
	votes := ask(q.background, q.masters, func(m *master, answer func(bool, error)) {
		m.take(own, q.patience(), answer, won)
	})
	t, heard := q.count(own, votes, q.patience()/25)
	decide(t.won())
	if t.won() {
		return true, nil
	}
	q.returning = q.takeBack(heard, votes)
	switch {
	case t.beaten() && t.refused >= q.need:
		return false, t.refusal // so that a refusal for good ends the waiting
	case t.beaten():
		return false, nil
	case t.lost >= q.need:
		return false, fmt.Errorf("%d of %d masters gave no answer: %w", t.lost, t.of, t.why)
	}
	// Neither side has a majority. It is certainly not ours once it is taken
	// back wherever it was granted.
	<-q.returning.decided
	if n := q.returning.remain; n >= q.need {
		return false, fmt.Errorf("%d of %d masters may keep the key: %w", n, t.of, t.why)
	}
	return false, nil
}

// returning is the giving back of what a set that failed may have taken.
type returning struct {
	decided chan struct{} // closed as soon as it can't be a majority that keeps the key, or all have answered
	remain  int           // how many masters may keep it, by then
}

// takeBack removes the key in the background from every master that didn't
// answer that it isn't ours: from those heard, and from those whose votes are
// still to come.
func (q *quorum) takeBack(heard []vote, votes <-chan vote) *returning {
	masters, remains := q.masters, make(chan bool, len(q.masters))
	free := func(v vote) {
		if v.certainlyNot() {
			remains <- false
			return
		}
		_, err := masters[v.node].free(context.Background())
		if err != nil { // once more: whoever releases doesn't ask again
			_, err = masters[v.node].free(context.Background())
		}
		remains <- err != nil
	}
	for _, v := range heard {
		q.background.Go(func() { free(v) })
	}
	for range len(masters) - len(heard) {
		q.background.Go(func() { free(<-votes) })
	}
	r := &returning{decided: make(chan struct{})}
	q.background.Go(func() {
		n, gone := 0, 0
		for n+gone < len(masters) && len(masters)-gone >= q.need {
			if <-remains {
				n++
			} else {
				gone++
			}
		}
		r.remain = n
		close(r.decided)
	})
	return r
}

// renew prolongs the key on a majority. It is lost when so many answer that it
// isn't ours that the rest are no majority. A minority that has forgotten it is
// asked to take it again, which doesn't count: somebody may have had it there
// in the meantime.
func (q *quorum) renew(ctx context.Context) (bool, error) {
	won, decide := q.verdict()
	votes := ask(q.background, q.masters, func(m *master, answer func(bool, error)) {
		held, err := unrefused(m.renew(ctx))
		answer(held, err)
		if !held && err == nil && <-won {
			m.regain(context.WithoutCancel(ctx), q.patience())
		}
	})
	t, _ := q.count(ctx, votes, 0)
	decide(t.won())
	if t.won() || t.beaten() {
		return t.won(), nil
	}
	return false, fmt.Errorf("renewed on %d of %d masters: %w", t.yes, t.of, t.why)
}

// release removes the key from all masters, those included that never
// answered, and returns when a majority has removed it.
func (q *quorum) release(ctx context.Context) error {
	if r := q.returning; r != nil {
		return q.awaitReturn(ctx, r)
	}
	life := q.background
	if !life.Enter() {
		life = locks.NewLife() // the locker is closed: wait here for all
		life.Enter()
		defer life.End()
	}
	defer life.Leave()
	own := context.WithoutCancel(ctx)
	votes := ask(life, q.masters, func(m *master, answer func(bool, error)) { answer(m.free(own)) })
	t, _ := q.count(ctx, votes, 0)
	switch {
	case t.won():
		return nil
	case t.why != nil && !t.beaten():
		return fmt.Errorf("release: %d of %d masters removed it: %w", t.yes, t.of, t.why)
	}
	return fmt.Errorf("release: %d of %d masters removed it: %w", t.yes, t.of, locks.ErrNotHeld)
}

// awaitReturn waits for what the set that failed gives back by itself: asking a second
// time at the same moment would make it a matter of chance which of the two is answered.
func (q *quorum) awaitReturn(ctx context.Context, r *returning) error {
	select {
	case <-r.decided:
	case <-ctx.Done():
		return fmt.Errorf("release: gave up waiting for the masters: %w", locks.Ended(ctx))
	}
	if r.remain >= q.need {
		return fmt.Errorf("release: %d of %d masters may keep the key", r.remain, len(q.holds))
	}
	return fmt.Errorf("release: %w", locks.ErrNotHeld)
}
