package checks

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

func TestSumsHoldInEveryInterleaving(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, h := draw(t, false)
		tl := Reconstruct(h)
		sum := 0
		for _, c := range tl.Commits {
			sum += c.Back()
		}
		over := Reconstruct(h).Sold() + Reconstruct(h).Left() - h.Plan.Stock
		assert.Equal(t, m.stock, Reconstruct(h).Left())
		assert.Equal(t, over, sum, "every commit moves the stock by Back - 1")
		assert.Len(t, Reconstruct(h).Traces(), max(over, 0))
		verdict := result.VerdictOf(judge("reconciliation", h))
		switch {
		case Reconstruct(h).Sold() > h.Plan.Stock:
			assert.Equal(t, result.Oversold, verdict)
		case over != 0:
			assert.Equal(t, result.Mismatch, verdict)
		default:
			assert.Equal(t, result.OK, verdict)
		}
		assert.LessOrEqual(t, len(Reconstruct(h).Explain()), maxLines)
	})
}

func TestFenceHoldsInEveryInterleaving(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, h := draw(t, false)
		assert.Empty(t, judge("fence", h))
		if m.fenced {
			assert.Zero(t, Reconstruct(h).LostUpdates())
			assert.Empty(t, judge("reconciliation", h))
		}
		if Reconstruct(h).DoubleHolds() == 0 {
			assert.Zero(t, Reconstruct(h).FenceRefused(), "a stale write takes two holders")
			assert.Zero(t, Reconstruct(h).LostUpdates(), "so does a lost update")
		}
	})
}

func TestEveryKeyEndsAsItReallyDid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, h := draw(t, true)
		for _, g := range Reconstruct(h).Grants {
			assert.Equal(t, m.losses[g.Event.Value], g.Loss.Cause, "key of %s", g.Event.Value)
			if p := g.Purchase; p != nil {
				assert.Equal(t, g.Event.Value, p.ID)
			} else {
				acquired := slices.ContainsFunc(h.Events, of(history.Acquired, g.Event.Value))
				assert.False(t, acquired, "%s acquired and has no grant", g.Event.Value)
			}
		}
	})
}

func TestHonestLocksAreBelieved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, h := draw(t, false)
		assert.Empty(t, judge("truth", h))
		assert.Empty(t, judge("leak", h))
	})
}

// TestLiesAreNoticed: one thing that the lock said of a purchase with a value
// of its own is turned into its opposite.
func TestLiesAreNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, h := draw(t, true)
		if m.blind {
			t.Skip("a release without a value isn't told")
		}
		removed := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.WireReleased && e.Done })
		said := slices.IndexFunc(h.Events, func(e history.Event) bool {
			return e.Kind == history.Released || e.Kind == history.ReleaseNotHeld
		})
		if said < 0 || !removed {
			t.Skip("nothing was released")
		}
		e := &h.Events[said]
		if e.Kind == history.Released {
			e.Kind = history.ReleaseNotHeld
		} else {
			e.Kind = history.Released
		}
		assert.Equal(t, result.Misreported, result.VerdictOf(judge("truth", h)))
	})
}

// bruteForce counts double holds pair by pair.
func bruteForce(t *Timeline) int {
	holders := t.holders()
	n := 0
	for i, p := range holders {
		if slices.ContainsFunc(holders[:i], func(q *Purchase) bool { return q.HeldAt(p.From) }) {
			n++
		}
	}
	return n
}

func mostByBruteForce(t *Timeline) int {
	most := 0
	for _, p := range t.holders() {
		n := 0
		for _, q := range t.holders() {
			if q.HeldAt(p.From) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestSweepEqualsBruteForce(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *rapid.T) history.History{
		"model": func(t *rapid.T) history.History { _, h := draw(t, false); return h },
		"soup":  soup,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				tl := Reconstruct(make(t))
				overlaps := doubleHolds(tl)
				assert.Equal(t, bruteForce(tl), len(overlaps))
				for _, o := range overlaps {
					assert.Positive(t, o.For)
				}
				if most := mostAtOnce(tl); len(overlaps) > 0 {
					assert.GreaterOrEqual(t, most, 2)
				}
				if slices.IsSortedFunc(tl.holders(), func(a, b *Purchase) int { return int(a.From-b.From) - 1 }) {
					assert.Equal(t, mostByBruteForce(tl), mostAtOnce(tl), "with distinct starts")
				}
			})
		})
	}
}

// TestOrderOfLinesDoesNotMatter: events of several processes arrive in any
// order; only orders are a list.
func TestOrderOfLinesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, h := draw(t, false)
		for i := range h.Events {
			h.Events[i].At += time.Duration(i) // no ties: the clock tells the order
		}
		shuffled := history.History{Plan: h.Plan, Events: slices.Clone(h.Events)}
		first := slices.IndexFunc(h.Events, kind(history.LoadEnded))
		body := shuffled.Events[:first]
		order := rapid.Permutation(slices.Clone(body)).Draw(t, "lines")
		copy(body, order)
		number(shuffled.Events)
		assert.Equal(t, texts(judge("", h)), texts(judge("", shuffled)))
		assert.Equal(t, Reconstruct(h).Explain(), Reconstruct(shuffled).Explain())
	})
}

func texts(fs []result.Finding) []string {
	var ts []string
	for _, f := range fs {
		ts = append(ts, string(f.Verdict)+": "+f.Text)
	}
	return ts
}

// examine runs everything that this package offers on a history.
func examine(t require.TestingT, h history.History) {
	for _, c := range All() {
		for _, f := range c.Judge(h) {
			assert.Equal(t, c.Property, f.Property)
			assert.Contains(t, result.Verdicts(), f.Verdict)
			assert.NotEmpty(t, f.Text)
			assert.NotNil(t, f.Events)
		}
	}
	assert.LessOrEqual(t, len(Reconstruct(h).Explain()), maxLines)
	for _, tr := range Reconstruct(h).Traces() {
		assert.NotEmpty(t, tr.Lines())
	}
	for _, n := range []int{Reconstruct(h).DoubleHolds(), Reconstruct(h).LostUpdates(), Reconstruct(h).FenceRefused()} {
		assert.GreaterOrEqual(t, n, 0)
	}
}

func TestNothingPanicsOnSoup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { examine(t, soup(t)) })
}

func TestNothingPanicsAtTheEndsOfTime(t *testing.T) {
	t.Parallel()
	h := incident()
	h.Events[0].At = math.MinInt64
	h.Events[len(h.Events)-1].At = math.MaxInt64
	h.Plan.TTL = math.MaxInt64
	examine(t, h)
	examine(t, history.History{})
}

func FuzzChecks(f *testing.F) {
	for _, make := range []func() history.History{good, incident, standstill,
		func() history.History { return failover().end() },
		func() history.History { return taken("flush", 99).end() },
		func() history.History { s, _ := quorum(); return s.end() },
		func() history.History { s, a := goneAtRelease(); a.renew(900, false); return s.end() },
	} {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		h := make()
		for _, e := range h.Events {
			require.NoError(f, enc.Encode(e))
		}
		f.Add(buf.Bytes(), h.Plan.Fenced, h.Plan.Shape, int64(h.Plan.TTL))
	}
	f.Fuzz(func(t *testing.T, lines []byte, fenced bool, shape string, ttl int64) {
		events, _ := history.Read(bytes.NewReader(lines)) // what could be read is judged
		examine(t, history.History{
			Plan:   history.Plan{Schema: history.PlanSchema, Stock: 3, Fenced: fenced, Renews: true, Shape: shape, TTL: time.Duration(ttl), StallAfter: time.Second},
			Events: events,
		})
	})
}
