package diagnose

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// watched is what is seen of the holders over a while.
type watched struct {
	names []string
	holds map[string]*observedHold
}

// observedHold is a key in what seems one holder's hands.
type observedHold struct {
	since, last time.Time
	first, left int64 // milliseconds to live, at since and at last
	value       string
	renewals    int
	unsure      bool
}

// watch looks at the keys again and again until the sample is over.
func (x *exam) watch(k *Keys, w *watched) {
	if len(w.names) == 0 {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithDeadline(x.ctx, began.Add(x.Sample))
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for x.look(w) {
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		x.look(w)
		break
	}
	if err := x.ctx.Err(); err != nil && x.broken == nil {
		x.broken = context.Cause(x.ctx)
	}
	k.SampleMS = time.Since(began).Milliseconds()
}

// look asks once for what every watched key has to live, and for its value,
// which is only compared with the one before.
func (x *exam) look(w *watched) bool {
	for part := range slices.Chunk(w.names, batch) {
		var left []*redis.Cmd
		var values []*redis.StringCmd
		_, _ = x.c.Pipelined(x.ctx, func(p redis.Pipeliner) error {
			for _, name := range part {
				left = append(left, p.Do(x.ctx, "PTTL", name))
				values = append(values, p.Get(x.ctx, name))
			}
			return nil
		})
		now := time.Now()
		for i, name := range part {
			if !x.answered("PTTL", true, left[i].Err()) {
				return false
			}
			ms, _ := left[i].Int64()
			value, err := values[i].Result()
			known := err == nil
			if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") && !x.answered("GET", false, err) && x.broken != nil {
				return false
			}
			w.see(name, now, ms, value, known)
		}
	}
	return true
}

// grew is by how much a TTL must grow to count as renewed: clocks and answers jitter.
const grew = 20

func (w *watched) see(name string, now time.Time, ms int64, value string, known bool) {
	h := w.holds[name]
	switch {
	case ms < noTTL:
		delete(w.holds, name)
		return
	case h == nil || known && value != h.value:
		w.holds[name] = &observedHold{since: now, last: now, first: ms, left: ms, value: value, unsure: !known}
		return
	}
	if ms > h.left-now.Sub(h.last).Milliseconds()+grew && ms != noTTL {
		h.renewals++
	}
	h.last, h.left = now, ms
	h.unsure = h.unsure || !known
}

// longest lists the holders that were seen longest. Where the TTL is known, what
// had gone of it at the first look counts, too.
func (w *watched) longest(ttl time.Duration) []Holder {
	list := []Holder{}
	for name, h := range w.holds {
		held := h.last.Sub(h.since).Milliseconds()
		if ttl > 0 && h.first >= 0 {
			held += max(0, ttl.Milliseconds()-h.first)
		}
		list = append(list, Holder{Key: name, HeldMS: held, LeftMS: h.left, Renewals: h.renewals, Unsure: h.unsure && h.renewals > 0})
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.HeldMS, a.HeldMS), cmp.Compare(a.LeftMS, b.LeftMS), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(shownKeys, len(list))]
}

// longHold is the share of the TTL from which on a hold is long.
const longHold = 0.8

// judgeHolders speaks of holds that are long for the TTL that was given.
func (x *exam) judgeHolders(k *Keys) {
	if x.TTL <= 0 {
		return
	}
	n := 0
	for _, h := range k.Longest {
		if float64(h.HeldMS) >= longHold*float64(x.TTL.Milliseconds()) {
			n++
		}
	}
	if n == 0 {
		return
	}
	x.risk("keys", "find out what their holders wait for; a TTL should be three times the P99 of what is done under the lock",
		"%d %s held for 80 %% of the TTL of %s or more, such as %q", n, plural(n, "lock is", "locks are"), x.TTL, cut(k.Longest[0].Key))
}
