package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/metrics"
)

// samples is what reg gathers, by the name and labels of each series: counters
// and gauges by their value, histograms by their count (with "_sum" their sum).
func samples(t testing.TB, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += fmt.Sprintf(",%s=%s", l.GetName(), l.GetValue())
			}
			switch {
			case m.GetHistogram() != nil:
				out[f.GetName()+"_count"+labels] = float64(m.GetHistogram().GetSampleCount())
				out[f.GetName()+"_sum"+labels] = m.GetHistogram().GetSampleSum()
			case m.GetGauge() != nil:
				out[f.GetName()+labels] = m.GetGauge().GetValue()
			default:
				out[f.GetName()+labels] = m.GetCounter().GetValue()
			}
		}
	}
	return out
}

func newLock(t *testing.T) (*metrics.Lock, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	l, err := metrics.NewLock(reg, "stock")
	require.NoError(t, err)
	return l, reg
}

// hold is a hold of a TTL of a second.
func hold(key string, held time.Duration) locks.Hold {
	return locks.Hold{Key: key, TTL: time.Second, Held: held}
}

const inARow = "oversell_lock_long_holds_in_a_row_total,lock=stock"

func TestLockCounts(t *testing.T) {
	l, reg := newLock(t)
	ctx := context.Background()
	before := samples(t, reg)
	for _, counter := range []string{
		inARow, "oversell_lock_lost_total,lock=stock", "oversell_locks_held,lock=stock",
		"oversell_lock_releases_total,lock=stock,outcome=not_held", "oversell_lock_releases_total,lock=stock,outcome=unknown",
		"oversell_lock_acquire_duration_seconds_count,lock=stock,outcome=unknown",
	} {
		assert.Contains(t, before, counter, "it begins at 0, so that no increase is missed")
		assert.Zero(t, before[counter])
	}

	l.Acquired(ctx, locks.Acquisition{Key: "a", TTL: time.Second, Took: 2 * time.Second})
	l.Acquired(ctx, locks.Acquisition{Key: "b", TTL: time.Second, Took: time.Second})
	l.Acquired(ctx, locks.Acquisition{Key: "c", Err: locks.ErrNotAcquired})
	l.Acquired(ctx, locks.Acquisition{Key: "d", Err: errors.New("no answer")})
	l.Released(ctx, hold("a", 500*time.Millisecond))
	got := samples(t, reg)
	assert.Equal(t, 1.0, got["oversell_locks_held,lock=stock"])
	assert.Equal(t, 2.0, got["oversell_lock_acquire_duration_seconds_count,lock=stock,outcome=acquired"])
	assert.Equal(t, 3.0, got["oversell_lock_acquire_duration_seconds_sum,lock=stock,outcome=acquired"])
	assert.Equal(t, 1.0, got["oversell_lock_acquire_duration_seconds_count,lock=stock,outcome=not_acquired"])
	assert.Equal(t, 1.0, got["oversell_lock_acquire_duration_seconds_count,lock=stock,outcome=unknown"])
	assert.Equal(t, 0.5, got["oversell_lock_hold_duration_seconds_sum,lock=stock"])
	assert.Equal(t, 0.5, got["oversell_lock_hold_ttl_ratio_sum,lock=stock"])

	// A release without an answer, and another try: one hold.
	unanswered := hold("b", 200*time.Millisecond)
	unanswered.Err, unanswered.Lost = errors.New("no answer"), true
	l.Released(ctx, unanswered)
	again := unanswered
	again.Err, again.Again = locks.ErrNotHeld, true
	l.Released(ctx, again)
	got = samples(t, reg)
	assert.Zero(t, got["oversell_locks_held,lock=stock"])
	assert.Equal(t, 2.0, got["oversell_lock_hold_duration_seconds_count,lock=stock"])
	assert.Equal(t, 1.0, got["oversell_lock_lost_total,lock=stock"])
	assert.Equal(t, 1.0, got["oversell_lock_releases_total,lock=stock,outcome=unknown"])
	assert.Equal(t, 1.0, got["oversell_lock_releases_total,lock=stock,outcome=not_held"])
}

func TestThreeLongHoldsInARow(t *testing.T) {
	const long, short = 800 * time.Millisecond, 799 * time.Millisecond
	type held struct {
		key string
		d   time.Duration
	}
	for name, c := range map[string]struct {
		holds []held
		want  float64
	}{
		"two aren't three":            {[]held{{"a", long}, {"a", long}}, 0},
		"the third":                   {[]held{{"a", long}, {"a", long}, {"a", long}}, 1},
		"and each that follows":       {[]held{{"a", long}, {"a", long}, {"a", long}, {"a", long}}, 2},
		"a short one in between":      {[]held{{"a", long}, {"a", long}, {"a", short}, {"a", long}}, 0},
		"every order has its own key": {[]held{{"a", long}, {"b", long}, {"c", long}}, 1},
		"a slow article among quick ones": {[]held{
			{"a", long}, {"b", short}, {"a", long}, {"c", short}, {"a", long}, {"b", short}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, reg := newLock(t)
			for _, h := range c.holds {
				l.Released(context.Background(), hold(h.key, h.d))
			}
			assert.Equal(t, c.want, samples(t, reg)[inARow])
		})
	}
}

// Keys are no labels, and what is remembered of them is bounded.
func TestKeysDontPileUp(t *testing.T) {
	l, reg := newLock(t)
	before := len(samples(t, reg))
	var buyers sync.WaitGroup
	for b := range 8 {
		buyers.Go(func() {
			for i := range 4000 {
				key := fmt.Sprintf("order:%d:%d", b, i)
				l.Acquired(context.Background(), locks.Acquisition{Key: key, TTL: time.Second})
				l.Released(context.Background(), hold(key, time.Second))
			}
		})
	}
	buyers.Wait()
	got := samples(t, reg)
	assert.Len(t, got, before)
	assert.Equal(t, 32000.0-2, got[inARow])
	assert.Zero(t, got["oversell_locks_held,lock=stock"])
	assert.LessOrEqual(t, metrics.RememberedKeys(l), metrics.MostKeys)
}

func TestNewLockTwice(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	for _, name := range []string{"stock", "stock", "cart", "\xff<script>", string(make([]byte, 10_000))} {
		l, err := metrics.NewLock(reg, name)
		require.NoError(t, err, "several lockers, one registry")
		l.Acquired(context.Background(), locks.Acquisition{})
	}
	got := samples(t, reg)
	assert.Equal(t, 2.0, got["oversell_locks_held,lock=stock"])
	assert.Equal(t, 1.0, got["oversell_locks_held,lock=cart"])
	assert.Equal(t, 1.0, got["oversell_locks_held,lock=?<script>"])
}

func TestANameThatIsTaken(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(prometheus.NewCounter(prometheus.CounterOpts{Name: "oversell_lock_lost_total", Help: "somebody else's"})))
	_, err := metrics.NewLock(reg, "stock")
	require.ErrorContains(t, err, "register the metrics of locks")
}

func TestWithoutATTLThereIsNoRatio(t *testing.T) {
	l, reg := newLock(t)
	l.Released(context.Background(), locks.Hold{Held: time.Second})
	assert.False(t, math.IsInf(samples(t, reg)["oversell_lock_hold_ttl_ratio_sum,lock=stock"], 0))
}
