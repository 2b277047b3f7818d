package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/result"
)

// Problem is one reason why a scenario can't be played.
type Problem struct {
	Path string // where, as in YAML: "load.ttl", "steps[0].when.point"
	Text string // why, in words that follow the path
}

// Error implements error.
func (p Problem) Error() string { return p.Path + " " + p.Text }

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// maxName keeps file names and tables in shape.
const maxName = 60

// Validate returns every reason why s can't be played, and nil when it can.
func (s Scenario) Validate() []Problem {
	var ps problems
	ps.add(!namePattern.MatchString(s.Name) || len(s.Name) > maxName, "name",
		"must be lower-case words joined by hyphens, %d characters at most", maxName)
	ps.add(s.Summary == "", "summary", "must say in one line what goes wrong")
	ps.add(!slices.ContainsFunc(result.Hazards(), func(h result.HazardInfo) bool { return h.Hazard == s.Hazard }),
		"hazard", "must be one of oversell list hazards, not %q", s.Hazard)
	ps.add(!slices.Contains([]cluster.Shape{cluster.Single, cluster.Sentinel, cluster.Quorum}, s.Shape),
		"shape", "must be single, sentinel or quorum, not %q", s.Shape)
	s.Load.validate(&ps)
	ps.add(s.TimeScale < 0, "timescale", "can't be negative")
	ps.add(!slices.ContainsFunc(s.Steps, func(st faults.Step) bool { return !st.Optional }),
		"steps", "must have a fault that isn't optional: without one nothing is proven")
	for i, st := range s.Steps {
		validateStep(&ps, i, st)
	}
	return ps
}

// problems collects what is wrong.
type problems []Problem

func (ps *problems) add(wrong bool, path, format string, args ...any) {
	if wrong {
		*ps = append(*ps, Problem{path, fmt.Sprintf(format, args...)})
	}
}

func (l Load) validate(ps *problems) {
	ps.add(l.Stock < 1, "load.stock", "must be at least 1 unit")
	ps.add(l.Instances < 1, "load.instances", "must be at least 1")
	ps.add(l.Buyers < max(l.Instances, 1), "load.buyers", "must be at least as many as there are instances (%d)", l.Instances)
	ps.add(l.Requests < 0, "load.requests", "can't be negative")
	ps.add(l.Requests > 0 && l.Requests <= l.Stock, "load.requests", "must be more than the stock (%d), or nothing can be oversold", l.Stock)
	positive := func(d time.Duration, path string) { ps.add(d <= 0, path, "must be longer than 0") }
	positive(l.TTL, "load.ttl")
	positive(l.Call, "load.call")
	positive(l.RetryEvery, "load.retryevery")
	positive(l.StallAfter, "load.stallafter")
	ps.add(l.MinTTL < 0 || l.MinTTL > l.TTL, "load.minttl", "must not be longer than the TTL (%s)", l.TTL)
	ps.add(l.Linger < 0, "load.linger", "can't be negative")
	ps.add(l.ClientRetries < 0, "load.clientretries", "can't be negative")
}

func validateStep(ps *problems, i int, st faults.Step) {
	at := func(path string) string { return fmt.Sprintf("steps[%d].%s", i, path) }
	w := st.When
	ps.add(st.Do == nil, at("fault"), "must name a fault")
	ps.add(w.Point != "" && !slices.Contains(faults.Points(), w.Point), at("when.point"), "must be one of %v, not %q", faults.Points(), w.Point)
	ps.add(w.Point == "" && w.At <= 0, at("when"), "needs a point, or a time longer than 0 in at")
	ps.add(w.Point != "" && w.At != 0, at("when.at"), "goes without a point")
	ps.add(w.Nth < 0, at("when.nth"), "can't be negative")
	ps.add(w.Every < 0, at("when.every"), "can't be negative")
	ps.add(w.After < 0 || w.After > i, at("when.after"), "must be the number of an earlier step, counted from 1")
	ps.add(w.During < 0 || w.During > i, at("when.during"), "must be the number of an earlier step, counted from 1")
	ps.add(st.For < 0, at("for"), "can't be negative")
}
