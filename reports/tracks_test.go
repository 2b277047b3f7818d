package reports

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestNestedCutsWhatOnlyOverlaps(t *testing.T) {
	t.Parallel()
	s := func(name string, from, to time.Duration) slice {
		return slice{name: name, purchase: name, from: from, to: to}
	}
	for _, c := range []struct{ given, want []slice }{
		{nil, nil},
		{[]slice{s("a", 1, 5)}, []slice{s("a", 1, 5)}},
		{[]slice{s("a", 1, 5), s("b", 5, 8)}, []slice{s("a", 1, 5), s("b", 5, 8)}},
		{[]slice{s("a", 1, 9), s("b", 2, 4)}, []slice{s("b", 2, 4), s("a", 1, 9)}},
		{[]slice{s("a", 1, 5), s("b", 3, 8)}, []slice{s("b", 3, 5), s("a", 1, 5), s("b", 5, 8)}},
		{[]slice{s("b", 1, 5), s("a", 1, 5)}, []slice{s("b", 1, 5), s("a", 1, 5)}},
	} {
		assert.Equal(t, c.want, nested(c.given))
	}
}

func TestNestedKeepsEverySliceWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) slice {
			from := time.Duration(rapid.IntRange(0, 50).Draw(t, "from"))
			return slice{from: from, to: from + time.Duration(rapid.IntRange(1, 20).Draw(t, "for"))}
		}), 0, 12).Draw(t, "slices")
		want := map[string]time.Duration{}
		for i := range given {
			given[i].purchase = string(rune('a' + i))
			want[given[i].purchase] = given[i].to - given[i].from
		}
		got := map[string]time.Duration{}
		parts := nested(given)
		for i, p := range parts {
			got[p.purchase] += p.to - p.from
			for _, q := range parts[:i] {
				apart := p.to <= q.from || q.to <= p.from
				within := (p.from >= q.from && p.to <= q.to) || (q.from >= p.from && q.to <= p.to)
				if !apart && !within {
					t.Fatalf("%v and %v overlap", p, q)
				}
			}
		}
		if len(want) != len(got) {
			t.Fatalf("%d became %d", len(want), len(got))
		}
		for id, d := range want {
			if got[id] != d {
				t.Fatalf("%s lasted %d, its parts %d", id, d, got[id])
			}
		}
	})
}
