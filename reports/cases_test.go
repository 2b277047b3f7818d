package reports_test

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/result"
)

// A testCase is one invocation's runs. Every format is held to all of them.
type testCase struct {
	name string
	runs []result.Run
}

func cases() []testCase {
	return []testCase{
		{"pass", []result.Run{naive(), safe()}},
		{"fail-not-provoked", []result.Run{notProvoked(), safe()}},
		{"fail-oversold", []result.Run{with(naive(), func(r *result.Run) {
			r.Expected, r.Gate = result.ExpectOK, result.Fail
		})}},
		{"inconclusive", []result.Run{naive(), inconclusive()}},
		{"stalled", []result.Run{stalled(), afterCrash()}},
		{"simulated", []result.Run{simulated(), with(simulated(), func(r *result.Run) {
			r.Gate = result.GateUnresolved
		}), safe()}},
		{"trials", []result.Run{trials(naive(), 10, 10), trials(safe(), 0, 10)}},
		{"fenced", []result.Run{failover()}},
		{"scenarios", []result.Run{naive(), safe(), stalled(), afterCrash(), failover(), with(naive(), func(r *result.Run) {
			r.Lock, r.Alias, r.Scenario, r.Hazard = "lua-watchdog", "", "sentinel-failover", result.LostMaster
		})}},
		{"same-lock", []result.Run{naive(), with(naive(), onServer("Redis 8.0.2")), with(naive(), onServer("Redis 8.0.2"))}},
		{"baseline", sinceBefore()},
		{"hostile", hostile()},
		{"long", []result.Run{long()}},
		{"bare", []result.Run{{}}},
		{"empty", nil},
	}
}

const repeat = "oversell run --scenario ttl-expiry --lock naive,safe --backend docker --redis 7.0 --seed 42"

func naive() result.Run {
	return result.Run{
		Scenario: "ttl-expiry", Hazard: result.SlowCall, Lock: "setnx-expire-del", Alias: "naive",
		Backend: "docker", Server: "Redis 7.0.15",
		Expected: result.ExpectNotOK, Verdict: result.Oversold, Gate: result.Pass,
		Stock: result.Stock{Initial: 100, Left: 0},
		Sold:  137, Oversold: 37, LostUpdates: 37, DoubleHolds: 41,
		Trials: 1, Violations: 1, Verdicts: map[result.Verdict]int{result.Oversold: 1},
		Rate:  result.Rate{Share: 1, Low: 0.025, High: 1, Confidence: 0.95},
		TTLMS: 300, Calls: result.Calls{Count: 141, P50MS: 4.1, P99MS: 451, MaxMS: 455.2},
		Evidence: []result.Evidence{
			{Fault: "slow-call", Proof: "the call of purchase 2-17 took 451 ms, the TTL is 300 ms", AtMS: 212},
			{Fault: "slow-call", Proof: "the call of purchase 5-3 took 450 ms, the TTL is 300 ms", AtMS: 904},
		},
		Findings: []result.Finding{
			{Property: result.Exclusion, Verdict: result.OK, Text: "purchase 2-17 and purchase 4-2 held the key at once from 0.512 s to 0.663 s", Events: []int64{12, 14, 15}},
			{Property: result.Reconciliation, Verdict: result.Oversold, Text: "137 orders for a stock of 100: 37 too many", Events: []int64{801, 802, 803, 804, 805, 806, 807, 808, 809}},
		},
		Story: []string{
			"0.212 s  instance 2 acquires the lock as purchase 2-17 and reads a stock of 96; its call will take 451 ms",
			"0.512 s  the key expires; instance 4 acquires it as purchase 4-2 and reads 96 too",
			"0.663 s  instance 2 writes 95, sells its unit, and its DEL frees the lock of instance 4",
			"0.665 s  instance 1 enters while instance 4 is still inside",
		},
		ServerInfo: map[string]any{
			result.InfoCPU: 6.4, result.InfoMemory: int64(1_310_720), result.InfoSlowLog: 0,
			result.InfoConnections: 13, result.InfoCommands: 2613.7,
		},
		Seed: 42, DurationMS: 3214, Dir: "runs/20250101-120000-ttl-expiry-naive", Command: repeat,
	}
}

func safe() result.Run {
	return result.Run{
		Scenario: "ttl-expiry", Hazard: result.SlowCall, Lock: "fenced", Alias: "safe",
		Backend: "docker", Server: "Redis 7.0.15",
		Expected: result.ExpectOK, Verdict: result.OK, Gate: result.Pass,
		Stock: result.Stock{Initial: 100}, Sold: 100, Trials: 1,
		Evidence: []result.Evidence{{Fault: "slow-call", Proof: "the call of purchase 1-8 took 450 ms, the TTL is 300 ms", AtMS: 198}},
		Seed:     42, DurationMS: 4480, Dir: "runs/20250101-120004-ttl-expiry-safe", Command: repeat,
	}
}

func notProvoked() result.Run {
	return with(naive(), func(r *result.Run) {
		r.Verdict, r.Gate = result.OK, result.Fail
		r.Sold, r.Oversold, r.LostUpdates, r.DoubleHolds, r.Violations = 100, 0, 0, 0, 0
		r.Findings, r.Story = nil, nil
	})
}

func inconclusive() result.Run {
	return with(safe(), func(r *result.Run) {
		r.Verdict, r.Gate = result.Inconclusive, result.GateUnresolved
		r.Findings = []result.Finding{{
			Property: result.Assumptions, Verdict: result.Inconclusive, Voids: true,
			Text: "this machine ran nothing for 412 ms, more than a third of the TTL (100 ms)", Events: []int64{77},
		}}
	})
}

func stalled() result.Run {
	return result.Run{
		Scenario: "crash-before-expire", Hazard: result.HolderCrash, Lock: "setnx-expire-del", Alias: "naive",
		Backend: "process", Server: "Redis 7.0.15",
		Expected: result.ExpectNotOK, Verdict: result.Stalled, Gate: result.Pass,
		Stock: result.Stock{Initial: 100, Left: 81}, Sold: 19, Trials: 1, Violations: 1,
		Evidence: []result.Evidence{{Fault: "kill-instance", Proof: "pid 4711: signal: killed, before its EXPIRE was sent", AtMS: 640}},
		Findings: []result.Finding{{Property: result.Progress, Verdict: result.Stalled, Text: "nobody could buy for 2.0 s with 81 units left; the key's TTL is -1", Events: []int64{190, 412}}},
		Story: []string{
			"0.640 s  instance 3 is killed after its SETNX and before its EXPIRE",
			"2.641 s  the key is still there, with a TTL of -1: it never expires",
		},
		Seed: 42, DurationMS: 2950, Dir: "runs/20250101-120010-crash-before-expire-naive",
		Command: strings.Replace(repeat, "ttl-expiry", "crash-before-expire", 1),
	}
}

func afterCrash() result.Run {
	return with(safe(), func(r *result.Run) {
		r.Scenario, r.Hazard, r.Command = "crash-before-expire", result.HolderCrash, stalled().Command
	})
}

func failover() result.Run {
	return with(safe(), func(r *result.Run) {
		r.Scenario, r.Hazard, r.DoubleHolds, r.FenceRefused = "sentinel-failover", result.LostMaster, 1, 3
		r.Findings = []result.Finding{{Property: result.Exclusion, Verdict: result.OK, Text: "two holders at once; the fence refused the older one's write", Events: []int64{31, 40}}}
		r.Story = []string{"1.904 s  a replica without the lock becomes master", "2.377 s  the fence refuses the write of instance 1: token 18 is older than 19"}
		r.Command = strings.Replace(repeat, "ttl-expiry", "sentinel-failover", 1)
	})
}

func simulated() result.Run {
	return with(naive(), func(r *result.Run) {
		r.Backend, r.Server, r.Simulated, r.ServerInfo = "embedded", "miniredis 2.40", true, nil
	})
}

func trials(r result.Run, violations, of int) result.Run {
	r.Violations, r.Trials = violations, of
	return r
}

// sinceBefore has every state that a comparison with a baseline can come to.
func sinceBefore() []result.Run {
	since := func(r result.Run, b result.Baseline) result.Run {
		r.Baseline = &b
		return r
	}
	broken := with(safe(), func(r *result.Run) {
		r.Verdict, r.Gate, r.Sold, r.Oversold = result.Oversold, result.Fail, 103, 3
		r.Findings = []result.Finding{{Property: result.Reconciliation, Verdict: result.Oversold, Text: "103 sold of 100: 3 too many", Events: []int64{411}}}
	})
	otherwise := with(broken, func(r *result.Run) { r.Scenario, r.Hazard = "partition", result.Partition })
	known := with(broken, func(r *result.Run) { r.Scenario, r.Hazard = "flushed", result.LostData })
	return []result.Run{
		since(naive(), result.Baseline{State: result.Unchanged, Verdict: result.Oversold, Gate: result.Pass}),
		since(broken, result.Baseline{State: result.New, Verdict: result.OK, Gate: result.Pass}),
		since(otherwise, result.Baseline{State: result.New}),
		since(known, result.Baseline{State: result.Still, Verdict: result.Oversold, Gate: result.Fail, Accepted: true}),
		since(safe(), result.Baseline{State: result.Fixed, Verdict: result.Stalled, Gate: result.Fail}),
	}
}

func hostile() []result.Run {
	bad := "\x1b[31mred\x1b[0m \x00\a\u202eevil\u009b]0;title\x07 <&>\"' ]]> \xff\xfe"
	one := naive()
	one.Scenario, one.Lock, one.Alias, one.Server = bad, bad, bad, bad
	one.Hazard, one.Backend, one.Dir = result.Hazard(bad), bad, bad
	one.Story = []string{bad, "two\nlines\r\nand a\ttab", "库存 oversold 🛒"}
	one.Evidence = []result.Evidence{{Fault: bad, Proof: bad, AtMS: -1}}
	one.Findings = []result.Finding{{Property: result.Property(bad), Verdict: result.Verdict(bad), Text: bad}}
	one.ServerInfo = map[string]any{bad: bad, result.InfoCPU: bad, result.InfoCommands: 1}
	one.Command, one.DurationMS = "oversell run --lock "+bad, -5

	two := naive()
	two.Lock, two.Alias, two.Scenario = strings.Repeat("x", 10_000), "", strings.Repeat("库", 10_000)
	two.Verdict, two.Gate, two.Expected = "no such verdict", "no such gate", "no such expectation"
	two.Story = []string{strings.Repeat("y", 10_000)}
	three := two
	three.Lock += "z" // the same once it is cut
	return []result.Run{one, two, three}
}

func long() result.Run {
	return with(naive(), func(r *result.Run) {
		r.Story, r.Findings, r.Evidence = nil, nil, nil
		for i := range 200 {
			r.Story = append(r.Story, fmt.Sprintf("%d.000 s  purchase %d sells a unit too many", i, i))
			r.Findings = append(r.Findings, result.Finding{Property: result.Exclusion, Verdict: result.OK, Text: fmt.Sprintf("overlap %d", i)})
			r.Evidence = append(r.Evidence, result.Evidence{Fault: "slow-call", Proof: fmt.Sprintf("call %d", i), AtMS: int64(i)})
		}
		r.Findings = append(r.Findings, result.Finding{Property: result.Reconciliation, Verdict: result.Oversold, Text: "137 orders for a stock of 100"})
	})
}

func onServer(version string) func(*result.Run) {
	return func(r *result.Run) { r.Server = version }
}

func with(r result.Run, change func(*result.Run)) result.Run {
	change(&r)
	return r
}
