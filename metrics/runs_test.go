package metrics_test

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/metrics"
	"github.com/oversell/oversell/result"
)

func newRuns(t *testing.T) (*metrics.Runs, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	r, err := metrics.NewRuns(reg, metrics.Build{Version: "v1.2.3", Commit: "abc", Go: "go1.26"})
	require.NoError(t, err)
	return r, reg
}

var plan = history.Plan{
	Scenario: "ttl-expiry", Lock: "setnx-expire-del", Key: "lock", TTL: 100 * time.Millisecond,
	Steps: []history.Step{{Fault: "slow-call"}, {Fault: "kill-instance"}},
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestRunsFollowTheHistory(t *testing.T) {
	r, reg := newRuns(t)
	see := r.Began(plan)
	for _, e := range []history.Event{
		{Kind: history.RunStarted},
		{Kind: history.AcquireStart, Purchase: "1.1.1", At: ms(10)},
		{Kind: history.AcquireStart, Purchase: "1.2.1", At: ms(11)},
		{Kind: history.AcquireStart, Purchase: "2.1.1", At: ms(12)},
		{Kind: history.Acquired, Purchase: "1.1.1", At: ms(14)},
		{Kind: history.FaultInjected, Fault: "slow-call", At: ms(15)},
		{Kind: history.AcquireUnknown, Purchase: "1.2.1", At: ms(20)},
		{Kind: history.Acquired, Purchase: "2.1.1", At: ms(30)},
	} {
		see(e)
	}
	assert.Equal(t, 2.0, samples(t, reg)["oversell_locks_held,lock=setnx-expire-del"], "it is told as it happens")
	for _, e := range []history.Event{
		{Kind: history.LostNoticed, Purchase: "1.1.1", At: ms(94)},
		{Kind: history.Committed, Purchase: "1.1.1", At: ms(95)},
		{Kind: history.ReleaseStart, Purchase: "1.1.1", At: ms(200)},
		{Kind: history.ReleaseNotHeld, Purchase: "1.1.1", At: ms(201)},
		{Kind: history.FaultInjected, Fault: "kill-instance", At: ms(205)},
		{Kind: history.InstanceExited, Instance: 2, At: ms(210)},
		{Kind: history.AcquireStart, Purchase: "1.3.1", At: ms(220)},
		{Kind: history.Acquired, Purchase: "1.3.1", At: ms(221)},
		{Kind: history.CommitRefused, Purchase: "1.3.1", At: ms(222)},
		{Kind: history.FaultFailed, Fault: "kill-instance", At: ms(223)},
		{Kind: history.RunEnded, At: ms(230)},
	} {
		see(e)
	}
	r.Judged(result.Run{Scenario: "ttl-expiry", Lock: "setnx-expire-del", Verdict: result.Oversold, Gate: result.Pass, Oversold: 37})
	got := samples(t, reg)
	const lock = ",lock=setnx-expire-del"
	for series, want := range map[string]float64{
		"oversell_build_info,commit=abc,goversion=go1.26,version=v1.2.3":            1,
		"oversell_runs_total" + lock + ",scenario=ttl-expiry,verdict=oversold":      1,
		"oversell_gates_total,gate=pass":                                            1,
		"oversell_gates_total,gate=fail":                                            0,
		"oversell_units_oversold_total":                                             37,
		"oversell_faults_injected_total,fault=slow-call":                            1,
		"oversell_faults_injected_total,fault=kill-instance":                        1,
		"oversell_faults_failed_total,fault=kill-instance":                          1,
		"oversell_faults_failed_total,fault=slow-call":                              0,
		"oversell_lock_acquire_duration_seconds_count" + lock + ",outcome=acquired": 3,
		"oversell_lock_acquire_duration_seconds_count" + lock + ",outcome=unknown":  1,
		"oversell_lock_hold_duration_seconds_count" + lock:                          1,
		"oversell_lock_hold_duration_seconds_sum" + lock:                            0.08,
		"oversell_lock_hold_ttl_ratio_sum" + lock:                                   0.8,
		"oversell_lock_lost_total" + lock:                                           1,
		"oversell_lock_releases_total" + lock + ",outcome=not_held":                 1,
		"oversell_purchases_total" + lock + ",outcome=sold":                         1,
		"oversell_purchases_total" + lock + ",outcome=fence_refused":                1,
		"oversell_locks_held" + lock:                                                0,
	} {
		if assert.Contains(t, got, series) {
			assert.InDelta(t, want, got[series], 1e-9, series)
		}
	}
}

// Two runs of one lock, one after the other and at the same time.
func TestRunsShareTheirSeries(t *testing.T) {
	r, reg := newRuns(t)
	one, two := r.Began(plan), r.Began(plan)
	one(history.Event{Kind: history.AcquireStart, Purchase: "1.1.1", At: ms(1)})
	two(history.Event{Kind: history.AcquireStart, Purchase: "1.1.1", At: ms(2)})
	one(history.Event{Kind: history.Acquired, Purchase: "1.1.1", At: ms(3)})
	two(history.Event{Kind: history.Acquired, Purchase: "1.1.1", At: ms(5)})
	got := samples(t, reg)
	assert.Equal(t, 2.0, got["oversell_locks_held,lock=setnx-expire-del"])
	assert.InDelta(t, 0.005, got["oversell_lock_acquire_duration_seconds_sum,lock=setnx-expire-del,outcome=acquired"], 1e-9)
}

func TestNewRunsTwice(t *testing.T) {
	r, reg := newRuns(t)
	require.NotNil(t, r)
	_, err := metrics.NewRuns(reg, metrics.Build{})
	var there prometheus.AlreadyRegisteredError
	require.True(t, errors.As(err, &there))
}
