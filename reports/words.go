package reports

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/internal/stats"
	"github.com/oversell/oversell/result"
)

// lockName is the kind's name with its alias in parentheses.
func lockName(r result.Run) string {
	if r.Alias == "" {
		return r.Lock
	}
	return r.Lock + " (" + r.Alias + ")"
}

// shortLock is the name that a person would type.
func shortLock(r result.Run) string {
	if r.Alias != "" {
		return r.Alias
	}
	return r.Lock
}

func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(max(0, ms))/1000) }

// plural is "1 time" or "3 times".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Line says in one line what came out of a run, such as
// "ttl-expiry  naive  oversold  sold 137 of 100  3.2 s".
func Line(r result.Run) string {
	parts := []string{
		r.Scenario,
		shortLock(r),
		string(r.Verdict),
		fmt.Sprintf("sold %d of %d", r.Sold, r.Stock.Initial),
		seconds(r.DurationMS),
	}
	if r.Simulated {
		parts = append(parts, "SIMULATED")
	}
	return strings.Join(parts, "  ")
}

// plain reports whether there is nothing to tell about r beyond its row in the
// table. A lock that let two in and was saved by the fence isn't plain.
func plain(r result.Run) bool {
	return r.Gate == result.Pass && r.Verdict == result.OK &&
		r.DoubleHolds == 0 && r.FenceRefused == 0 && len(r.Findings) == 0
}

// asExpected is the verdict and how it compares with the expectation.
func asExpected(r result.Run) string {
	switch {
	case r.Gate == result.Pass:
		return string(r.Verdict) + ", as expected"
	case r.Gate == result.Fail:
		return fmt.Sprintf("%s, expected %s", r.Verdict, r.Expected)
	case r.Verdict == result.Inconclusive:
		return string(r.Verdict)
	default:
		return string(r.Verdict) + ", but the gate is inconclusive"
	}
}

// reason says in one clause why the gate of r is what it is.
func reason(r result.Run) string {
	lock := shortLock(r)
	switch {
	case r.Counted() != r.Gate:
		return fmt.Sprintf("%s came out %s as in the baseline, which is accepted", lock, r.Verdict)
	case r.Gate == result.Pass && r.Expected == result.ExpectNotOK:
		return fmt.Sprintf("%s was expected to break and did: %s", lock, r.Verdict)
	case r.Gate == result.Pass:
		return fmt.Sprintf("%s came out %s, as expected", lock, r.Verdict)
	case r.Gate == result.Fail && r.Expected == result.ExpectNotOK:
		return fmt.Sprintf("%s was expected to break and came out %s: the harness failed to provoke it", lock, r.Verdict)
	case r.Gate == result.Fail && r.Verdict == result.Oversold:
		return fmt.Sprintf("%s was expected to come out %s and oversold: %d sold of %d", lock, r.Expected, r.Sold, r.Stock.Initial)
	case r.Gate == result.Fail:
		return fmt.Sprintf("%s was expected to come out %s and came out %s", lock, r.Expected, r.Verdict)
	default:
		return fmt.Sprintf("%s is inconclusive: %s", lock, doubt(r))
	}
}

// doubt is what keeps r from counting.
func doubt(r result.Run) string {
	for _, f := range r.Findings {
		if f.Voids || f.Verdict == result.Inconclusive {
			return strings.TrimSuffix(f.Text, ".")
		}
	}
	if r.Simulated {
		return "its servers were SIMULATED, and only --allow-simulated lets such a result count"
	}
	return "nothing can be concluded from this run"
}

// counts sums up the numbers of a run.
func counts(r result.Run) string {
	parts := []string{fmt.Sprintf("sold %d of %d", r.Sold, r.Stock.Initial)}
	if r.Oversold > 0 {
		parts[0] += fmt.Sprintf(", %d too many", r.Oversold)
	}
	parts = append(parts, fmt.Sprintf("%d left", r.Stock.Left))
	if r.DoubleHolds > 0 {
		parts = append(parts, "two holders at once "+plural(r.DoubleHolds, "time"))
	}
	if r.FenceRefused > 0 {
		parts = append(parts, "fence refused "+plural(r.FenceRefused, "write"))
	}
	if r.LostUpdates > 0 {
		parts = append(parts, plural(r.LostUpdates, "lost update"))
	}
	if r.Trials > 1 {
		parts = append(parts, "violations in "+trials(r))
	}
	return strings.Join(parts, "; ")
}

// trials is the rate of violations in words, with its interval. Trials that say
// nothing don't count.
func trials(r result.Run) string {
	text := stats.Rate{Hits: r.Violations, Trials: r.Trials - r.Inconclusive}.String()
	if r.Inconclusive > 0 {
		text += fmt.Sprintf("; %d inconclusive", r.Inconclusive)
	}
	return text
}

// place says where and how long a run was played.
func place(r result.Run) string {
	servers := r.Server
	if servers == "" {
		servers = "an unknown server"
	}
	if r.Simulated {
		servers = "SIMULATED servers (" + servers + ")"
	}
	if r.Backend == "log" { // nothing was played there
		return fmt.Sprintf("%s; %s", servers, seconds(r.DurationMS))
	}
	if r.Backend != "" {
		servers += " on " + r.Backend
	}
	return fmt.Sprintf("%s; %s; seed %d", servers, seconds(r.DurationMS), r.Seed)
}

// at is a moment of a run, as stories tell it.
func at(ms int64) string { return fmt.Sprintf("%.3f s", float64(ms)/1000) }
