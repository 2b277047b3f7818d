package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oversell/oversell/internal/stats"
	"github.com/oversell/oversell/result"
)

// Schema names the document that Report marshals to.
const Schema = "oversell.sweep/v1"

// Report is a whole sweep.
type Report struct {
	Schema    string      `json:"schema"`
	Parameter string      `json:"parameter"`
	Unit      string      `json:"unit"` // "ms", or "" for a count
	Trials    int         `json:"trials"`
	Gate      result.Gate `json:"gate"` // of the locks that claim to withstand the hazard
	Backend   string      `json:"backend"`
	Simulated bool        `json:"simulated"`
	Seed      int64       `json:"seed"`
	Curves    []Curve     `json:"curves"`
	Dir       string      `json:"dir"`
	Command   string      `json:"command"`
}

// Curve is what came out for one lock in one scenario on one server.
type Curve struct {
	Scenario  string        `json:"scenario"`
	Hazard    result.Hazard `json:"hazard"`
	Lock      string        `json:"lock"`
	Alias     string        `json:"alias"`
	Server    string        `json:"server"`
	Claims    bool          `json:"claims"` // the lock claims to withstand the hazard
	Points    []Point       `json:"points"`
	Threshold Threshold     `json:"threshold"`
	Advice    string        `json:"advice"`
}

// Point is what came out at one value.
type Point struct {
	Value        float64     `json:"value"`
	Word         string      `json:"word"` // the value as people read it
	Trials       int         `json:"trials"`
	Inconclusive int         `json:"inconclusive"`
	Oversold     int         `json:"oversold"` // trials
	Violations   int         `json:"violations"`
	Rate         result.Rate `json:"rate"` // of overselling, among the trials that came to a conclusion
	UnitsMean    float64     `json:"units_mean"`
	UnitsMax     int         `json:"units_max"` // sold beyond the stock
	CallP99MS    float64     `json:"call_p99_ms"`
	Dirs         []string    `json:"dirs"`
}

// Conclusive is how many trials say something.
func (p Point) Conclusive() int { return p.Trials - p.Inconclusive }

// NewPoint sums up the trials at one value.
func (s Sweep) NewPoint(v Value, trials []result.Run) Point {
	p := Point{Value: s.Parameter.Number(v), Word: s.Parameter.Word(v), Trials: len(trials), Dirs: []string{}}
	units := 0
	for _, t := range trials {
		p.Dirs = append(p.Dirs, t.Dir)
		p.CallP99MS = max(p.CallP99MS, t.Calls.P99MS)
		if t.Verdict == result.Inconclusive {
			p.Inconclusive++
			continue
		}
		if t.Verdict.Violation() {
			p.Violations++
		}
		if t.Oversold > 0 {
			p.Oversold++
		}
		units += t.Oversold
		p.UnitsMax = max(p.UnitsMax, t.Oversold)
	}
	n := p.Conclusive()
	r := stats.Rate{Hits: p.Oversold, Trials: n}
	p.Rate = result.Rate{Confidence: stats.Confidence}
	p.Rate.Low, p.Rate.High = r.Interval()
	if n > 0 {
		p.Rate.Share = float64(p.Oversold) / float64(n)
		p.UnitsMean = float64(units) / float64(n)
	}
	return p
}

// Judge is the gate of a sweep: a lock that claims to withstand the hazard has
// to hold at every value, and every value must say something. Locks that claim
// nothing have nothing to keep.
func Judge(curves []Curve) result.Gate {
	gate := result.Pass
	if len(curves) == 0 {
		gate = result.GateUnresolved
	}
	for _, c := range curves {
		for _, p := range c.Points {
			switch {
			case c.Claims && p.Violations > 0:
				return result.Fail
			case p.Conclusive() == 0, c.Claims && p.Inconclusive > 0:
				gate = result.GateUnresolved
			}
		}
	}
	return gate
}

// Threshold is where a lock begins to oversell.
type Threshold struct {
	Found bool    `json:"found"`
	Holds float64 `json:"holds"` // the value next to the threshold at which it doesn't
	Sells float64 `json:"sells"` // the one at which it does
	Text  string  `json:"text"`
}

// FindThreshold looks for the one value at which a curve turns. Points without
// a conclusive trial don't count.
func (s Sweep) FindThreshold(points []Point) Threshold {
	var said []Point
	trials, oversold := 0, 0
	for _, p := range points {
		if p.Conclusive() > 0 {
			said = append(said, p)
			trials, oversold = trials+p.Conclusive(), oversold+p.Oversold
		}
	}
	if s.Parameter.SafeAbove {
		slices.Reverse(said) // from the safe end to the other
	}
	name := s.Parameter.Name
	first := slices.IndexFunc(said, sells)
	switch {
	case len(said) == 0:
		return Threshold{Text: "nothing can be concluded at any value"}
	case first < 0:
		return Threshold{Text: fmt.Sprintf("no value of %s oversells: %s", name, stats.Rate{Trials: trials})}
	case first == 0 && !slices.ContainsFunc(said, holds):
		return Threshold{Text: fmt.Sprintf("every value of %s oversells, %s too: %s",
			name, said[0].Word, stats.Rate{Hits: oversold, Trials: trials})}
	case first == 0 || slices.ContainsFunc(said[first:], holds):
		return Threshold{Text: fmt.Sprintf("no clear threshold: %s oversells at %s and doesn't at %s",
			name, words(said, sells), words(said, holds))}
	}
	in, out := said[first], said[first-1]
	way := "from %s on, and not up to %s"
	if s.Parameter.SafeAbove {
		way = "up to %s, and not from %s on"
	}
	return Threshold{
		Found: true, Sells: in.Value, Holds: out.Value,
		Text: fmt.Sprintf("oversells with a %s "+way, name, in.Word, out.Word),
	}
}

func sells(p Point) bool { return p.Oversold > 0 }
func holds(p Point) bool { return p.Oversold == 0 }

// words lists the values of the points that are so, smallest first.
func words(points []Point, so func(Point) bool) string {
	var picked []Point
	for _, p := range points {
		if so(p) {
			picked = append(picked, p)
		}
	}
	slices.SortFunc(picked, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) })
	list := make([]string, len(picked))
	for i, p := range picked {
		list[i] = p.Word
	}
	return strings.Join(list, ", ")
}
