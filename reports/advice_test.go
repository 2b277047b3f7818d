package reports_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func TestAdviceFollowsFromWhatWasMeasured(t *testing.T) {
	t.Parallel()
	const fence = " A fence at the inventory refuses whoever was overtaken all the same, also after a pause or a lost master, where no TTL and no watchdog helps."
	for name, tc := range map[string]struct {
		run  result.Run
		want string
	}{
		"the call outlives the TTL": {
			result.Run{TTLMS: 300, Calls: result.Calls{Count: 100, P99MS: 451.2}},
			"the P99 of the calls was 451.2ms, 1.5 x the TTL of 300ms. A TTL should be 3 times that, 1.4s at least;" +
				" a watchdog that renews the key keeps others out for as long as the call lasts." + fence,
		},
		"it renews": {
			result.Run{TTLMS: 300, Calls: result.Calls{Count: 100, P99MS: 200}, Renews: true},
			"the P99 of the calls was 200ms, 0.67 x the TTL of 300ms. A TTL should be 3 times that, 600ms at least," +
				" although this lock renews its key while a call lasts." + fence,
		},
		"the TTL is long enough": {
			result.Run{TTLMS: 18000, Calls: result.Calls{Count: 100, P99MS: 6000}, Renews: true},
			"the P99 of the calls was 6s, 0.33 x the TTL of 18s. The TTL is long enough for them:" +
				" a longer one would have changed nothing here." + fence,
		},
		"it has a fence": {
			result.Run{TTLMS: 50, Calls: result.Calls{Count: 1, P99MS: 0.3}, Fenced: true},
			"the P99 of the calls was 300µs, 0.006 x the TTL of 50ms. The TTL is long enough for them:" +
				" a longer one would have changed nothing here.",
		},
		"no call came to its end": {result.Run{TTLMS: 300}, ""},
		"no TTL is known":         {result.Run{Calls: result.Calls{Count: 3, P99MS: 4}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, reports.Advice(tc.run))
		})
	}
}

func TestOnlyWhoOversoldGetsAdvice(t *testing.T) {
	t.Parallel()
	assert.Contains(t, write(t, reports.Text(), []result.Run{naive()}, reports.Options{}), "Advice: the P99 of the calls was 451ms")
	assert.NotContains(t, write(t, reports.Text(), []result.Run{stalled()}, reports.Options{}), "Advice")
}

func TestTrialsAreARateAndNeverNever(t *testing.T) {
	t.Parallel()
	run := with(safe(), func(r *result.Run) { r.Trials, r.Inconclusive = 302, 2 })
	out := write(t, reports.Text(), []result.Run{run}, reports.Options{})
	assert.Contains(t, out, "ttl-expiry, fenced (safe): violations in 0 of 300: at most 1.2 % at 95 %; 2 inconclusive\n")
	assert.NotContains(t, out, "never")
}

func TestTheServerIsShownWhereItDiffers(t *testing.T) {
	t.Parallel()
	other := with(naive(), onServer("Valkey 9.1.0"))
	assert.NotContains(t, write(t, reports.Text(), []result.Run{naive(), naive()}, reports.Options{}), "server ")
	assert.Regexp(t, `(?m)^ttl-expiry +setnx-expire-del \(naive\) +Valkey 9\.1\.0 `, write(t, reports.Text(), []result.Run{naive(), other}, reports.Options{}))
}
