package diagnose

import (
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
	suspects := x.suspects(ttls, names) // before the sample, whose GETs touch the keys
	x.watch(k, w)
	if x.broken != nil {
		return
	}
	x.findEternal(k, suspects)
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

// suspects are the keys without a TTL, the first of them with the time since
// somebody touched them.
func (x *exam) suspects(ttls map[string]int64, names []string) []Key {
	var list []Key
	for _, name := range names {
		if ms, ok := ttls[name]; ok && ms == noTTL {
			list = append(list, Key{Key: name})
		}
	}
	for i := range min(shownKeys, len(list)) {
		idle, err := x.c.ObjectIdleTime(x.ctx, list[i].Key).Result()
		if !x.answered("OBJECT IDLETIME", false, err) {
			break
		}
		if err == nil {
			s := int64(idle.Seconds())
			list[i].IdleS = &s
		}
	}
	return list
}

// findEternal lists the suspects that have no TTL at the end of the sample
// either: between SETNX and EXPIRE every naive lock has none.
func (x *exam) findEternal(k *Keys, suspects []Key) {
	names := make([]string, len(suspects))
	for i, s := range suspects {
		names[i] = s.Key
	}
	now, ok := x.ttls(names)
	if !ok {
		return
	}
	for _, s := range suspects {
		if ms, ok := now[s.Key]; ok && ms == noTTL {
			k.Eternal = append(k.Eternal, s)
		}
	}
	k.Eternals = len(k.Eternal)
	if k.Eternals == 0 {
		return
	}
	k.Eternal = k.Eternal[:min(shownKeys, len(k.Eternal))]
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
