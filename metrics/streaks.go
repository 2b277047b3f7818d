package metrics

import "sync"

// inARow is how many long holds one after the other are no accident any more.
const inARow = 3

// mostKeys bounds the keys whose streaks are remembered.
const mostKeys = 10_000

// streaks finds long holds that come in a row: of one key, because a slow
// article is hidden among the quick ones otherwise, or of all keys together,
// because a service whose every order has a key of its own never holds a key
// three times.
//
// A scrape can't find them. A histogram doesn't know what came after what, and
// a gauge of the last ratio is overwritten many times between two scrapes. So
// they are counted here, where every hold is seen, and the counter remembers
// what was between the scrapes.
type streaks struct {
	mu   sync.Mutex
	all  int
	keys map[string]int // of keys whose last hold was long
}

func newStreaks() *streaks { return &streaks{keys: map[string]int{}} }

// add notes the end of a hold, and reports whether it is at least the third
// long one in a row.
func (s *streaks) add(key string, long bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !long {
		s.all = 0
		delete(s.keys, key)
		return false
	}
	s.all++
	n := s.keys[key] + 1
	if n > 1 || len(s.keys) < mostKeys {
		s.keys[key] = n
	}
	return s.all >= inARow || n >= inARow
}
