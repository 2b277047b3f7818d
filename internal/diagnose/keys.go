package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keys is what was found of the locks.
type Keys struct {
	Patterns []string `json:"patterns"` // what was looked for
	Guessed  bool     `json:"guessed"`  // names that look like locks, as nobody said which are
	Scanned  bool     `json:"scanned"`  // all keys were looked at
	Locks    int      `json:"locks"`
	Eternal  []Key    `json:"without_ttl"`
	Eternals int      `json:"without_ttl_count"`
	SampleMS int64    `json:"sample_ms"`
	Watched  int      `json:"watched"` // keys in the sample
	Longest  []Holder `json:"longest_holders"`
}

// Key is a lock that never expires.
type Key struct {
	Key   string `json:"key"`
	IdleS *int64 `json:"idle_s,omitempty"` // since somebody last touched it
}

// Holder is a key that was held throughout some time.
type Holder struct {
	Key    string `json:"key"`
	HeldMS int64  `json:"held_ms"`    // at least
	LeftMS int64  `json:"expires_ms"` // when it was last looked at
	// Renewals is how often its TTL was seen to grow.
	Renewals int `json:"renewals"`
	// Unsure says that the holder can have changed meanwhile: the key's value
	// couldn't be read.
	Unsure bool `json:"unsure"`
}

const (
	batch       = 500 // keys asked for at a time
	mostLocks   = 10_000
	mostWatched = 1_000
	shownKeys   = 20
	lookEvery   = 200 * time.Millisecond
)

// A lock is a string, or with some libraries a hash.
var lockTypes = []string{"string", "hash"}

// looksLikeALock finds "lock:stock:1", "stock_lock" and "stockLock", and not
// "blocked", "clock" or "unlocked".
var looksLikeALock = regexp.MustCompile(`(?:^|[^\pL])(?i:(?:red|dist|my)?locks?|mutex|lease)(?:[^\pL]|$)|\p{Ll}Locks?(?:\P{Ll}|$)`)

// guesses are patterns that match whatever may look like a lock.
var guesses = []string{"*[lL][oO][cC][kK]*", "*[mM][uU][tT][eE][xX]*", "*[lL][eE][aA][sS][eE]*"}

func (x *exam) lookAtKeys() {
	k := &Keys{Guessed: len(x.Prefixes) == 0, Patterns: guesses, Eternal: []Key{}, Longest: []Holder{}}
	if !k.Guessed {
		k.Patterns = nil
		for _, p := range x.Prefixes {
			k.Patterns = append(k.Patterns, literally(p)+"*")
		}
	}
	names, ok := x.scan(k)
	if !ok {
		return
	}
	x.r.Keys = k
	ttls, ok := x.ttls(names)
	if !ok {
		return
	}
	k.Locks = len(ttls)
	w := &watched{holds: map[string]*observedHold{}}
	for _, name := range names {
		if _, held := ttls[name]; held && len(w.names) < mostWatched {
			w.names = append(w.names, name)
		}
	}
	k.Watched = len(w.names)
	x.watch(k, w)
	if x.broken != nil {
		return
	}
	x.findEternal(k, ttls, names)
	k.Longest = w.longest(x.TTL)
	x.judgeHolders(k)
}

// literally is a pattern that matches only the text itself.
func literally(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// scan returns the names of what may be locks. It stops after a while, however
// many keys there are; what it hasn't looked at is told as a question that
// stayed open.
func (x *exam) scan(k *Keys) (names []string, ok bool) {
	deadline := time.Now().Add(x.Scan)
	seen := map[string]bool{}
	for _, pattern := range k.Patterns {
		for cursor := uint64(0); ; {
			found, next, err := x.c.Scan(x.ctx, cursor, pattern, batch).Result()
			if !x.answered("SCAN", true, err) {
				return nil, false
			}
			for _, name := range found {
				if !seen[name] && (!k.Guessed || looksLikeALock.MatchString(name)) {
					seen[name] = true
					names = append(names, name)
				}
			}
			if cursor = next; cursor == 0 {
				break
			}
			if len(names) >= mostLocks || time.Now().After(deadline) {
				x.unasked("SCAN", fmt.Sprintf("stopped after %d locks and %s: there are more keys than could be looked at in that time", len(names), x.Scan), true)
				return names, true
			}
		}
	}
	k.Scanned = true
	return names, true
}

// noTTL is what PTTL answers of a key that never expires.
const noTTL = -1

// ttls asks for what the names have to live, in milliseconds, and leaves out
// what is no lock and what is gone.
func (x *exam) ttls(names []string) (map[string]int64, bool) {
	out := map[string]int64{}
	for part := range slices.Chunk(names, batch) {
		var types []*redis.StatusCmd
		var left []*redis.Cmd
		_, err := x.c.Pipelined(x.ctx, func(p redis.Pipeliner) error {
			for _, name := range part {
				types = append(types, p.Type(x.ctx, name))
				left = append(left, p.Do(x.ctx, "PTTL", name))
			}
			return nil
		})
		if err != nil && x.broken == nil && len(left) == 0 {
			x.broken = err
		}
		for i, name := range part {
			if !x.answered("PTTL", true, left[i].Err()) {
				return nil, false
			}
			of, err := types[i].Result()
			if err == nil && !slices.Contains(lockTypes, of) {
				continue
			}
			ms, err := left[i].Int64()
			if err == nil && ms >= noTTL {
				out[name] = ms
			}
		}
	}
	return out, true
}

// findEternal lists the keys that have no TTL, and had none at the start of the
// sample either: between SETNX and EXPIRE every naive lock has none.
func (x *exam) findEternal(k *Keys, before map[string]int64, names []string) {
	var suspects []string
	for _, name := range names {
		if ms, ok := before[name]; ok && ms == noTTL {
			suspects = append(suspects, name)
		}
	}
	now, ok := x.ttls(suspects)
	if !ok {
		return
	}
	for _, name := range suspects {
		if ms, ok := now[name]; ok && ms == noTTL {
			k.Eternal = append(k.Eternal, Key{Key: name})
		}
	}
	k.Eternals = len(k.Eternal)
	if k.Eternals == 0 {
		return
	}
	k.Eternal = k.Eternal[:min(shownKeys, len(k.Eternal))]
	for i, e := range k.Eternal {
		idle, err := x.c.ObjectIdleTime(x.ctx, e.Key).Result()
		if !x.answered("OBJECT IDLETIME", false, err) {
			break
		}
		s := int64(idle.Seconds())
		k.Eternal[i].IdleS = &s
	}
	hint := "if its holder is gone nobody gets that lock again: make sure that it is, then DEL it; set key and TTL in one command (SET NX PX)"
	if k.Guessed {
		hint += "; if these aren't locks, say with --prefix which are"
	}
	x.problem("keys", hint, "%d lock %s no TTL, such as %q", k.Eternals, plural(k.Eternals, "key has", "keys have"), cut(k.Eternal[0].Key))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

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
