package engine

import (
	"path/filepath"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/result"
)

// judge turns the run's history into its result, and saves that too.
func (r *run) judge() (result.Run, error) {
	h := history.History{Plan: r.plan, Events: r.rec.Events()}
	out := Judge(h, r.e.cfg.Checks)
	out.Dir = filepath.ToSlash(r.dir)
	if out.Simulated && !r.e.cfg.AllowSimulated {
		out.Gate = result.GateUnresolved
	}
	return out, saveResult(out)
}

// Ended is a trial that is over.
type Ended struct {
	Dir     string
	History history.History
	Result  result.Run
	Err     error // why it came to no result; nil when it did
}

// noteFailure records why the run comes to no verdict: the history outlives
// the message on the terminal.
func (r *run) noteFailure(err error) {
	if err != nil {
		r.rec.Record(history.Event{Kind: history.RunFailed, Err: err.Error(), Text: hint.Of(err)})
	}
}

// tell passes the run on when it is over.
func (r *run) tell(out result.Run, err error) {
	if r.e.cfg.Ended != nil {
		h := history.History{Plan: r.plan, Events: r.rec.Events()}
		r.e.cfg.Ended(Ended{Dir: r.dir, History: h, Result: out, Err: err})
	}
}

// Judge is a history's result under checks: the same, whenever it is judged.
func Judge(h history.History, list []checks.Check) result.Run {
	p, t := h.Plan, checks.Reconstruct(h)
	out := result.Run{
		Scenario: p.Scenario, Hazard: result.Hazard(p.Hazard), Lock: p.Lock, Alias: p.Alias,
		Backend: p.Backend, Server: p.Server, Simulated: p.Simulated,
		Expected: result.Expectation(p.Expected), Seed: p.Seed, Command: p.Command,
		TTLMS: float64(p.TTL.Microseconds()) / 1000, Calls: checks.Calls(h), Renews: p.Renews, Fenced: p.Fenced,
		Stock: result.Stock{Initial: p.Stock, Left: t.Left()},
		Sold:  t.Sold(), LostUpdates: t.LostUpdates(),
		DoubleHolds: t.DoubleHolds(), FenceRefused: t.FenceRefused(),
		Story: t.Explain(), Evidence: []result.Evidence{}, Findings: t.Judge(list),
	}
	out.Oversold = max(0, out.Sold-p.Stock)
	for _, e := range h.Events {
		switch e.Kind {
		case history.FaultInjected:
			out.Evidence = append(out.Evidence, result.Evidence{Fault: e.Fault, Proof: e.Text, AtMS: e.At.Milliseconds()})
		case history.ServerInfo:
			out.ServerInfo = e.Info
		}
		out.DurationMS = max(out.DurationMS, e.At.Milliseconds())
	}
	out.Verdict = result.VerdictOf(out.Findings)
	out.Gate = out.Expected.Judge(out.Verdict)
	return decide([]result.Run{out})
}
