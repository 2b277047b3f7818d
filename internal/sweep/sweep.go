// Package sweep plays with one number of a scenario: it reads the values that
// the number is to have, puts them into scenarios, and says from which value on
// a lock oversells.
package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/scenarios"
)

// Parameter is a number that can be swept.
type Parameter struct {
	Name    string
	Summary string // one line
	// Counts says that values are counted; otherwise they are durations.
	Counts bool
	// SafeAbove says that larger values are the safer ones.
	SafeAbove bool
	// Flag is the flag that sets the same number, "" for none.
	Flag string

	put func(s *scenarios.Scenario, v Value) error
}

// Value is one value of a parameter: nanoseconds, or a number of things.
type Value int64

// Put returns s with the parameter at v. It leaves s as it is.
func (p Parameter) Put(s scenarios.Scenario, v Value) (scenarios.Scenario, error) {
	s.Steps = slices.Clone(s.Steps)
	if err := p.put(&s, v); err != nil {
		return s, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return s, nil
}

// Word is v as people read it: "300ms" or "40".
func (p Parameter) Word(v Value) string {
	if p.Counts {
		return strconv.FormatInt(int64(v), 10)
	}
	return time.Duration(v).String()
}

// Number is v for programs: milliseconds, or a number of things.
func (p Parameter) Number(v Value) float64 {
	if p.Counts {
		return float64(v)
	}
	return float64(v) / float64(time.Millisecond)
}

// Sweep is a parameter and the values that it is to have, smallest first.
type Sweep struct {
	Parameter Parameter
	Values    []Value
}

// defaultPoints is how many values a range has that doesn't say it.
const defaultPoints = 8

// maxPoints bounds the values of a sweep: each is played several times.
const maxPoints = 1000

// Parse reads "ttl=50ms..1s", "ttl=50ms..1s/12" or "call=100ms,300ms,450ms".
func Parse(text string) (Sweep, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok {
		return Sweep{}, fmt.Errorf("%q is not NAME=VALUES", text)
	}
	all := Parameters()
	i := slices.IndexFunc(all, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Sweep{}, fmt.Errorf("%q can't be swept: choose from %s", name, strings.Join(Names(), ", "))
	}
	s := Sweep{Parameter: all[i]}
	var err error
	if strings.Contains(values, "..") {
		s.Values, err = s.Parameter.span(values)
	} else {
		s.Values, err = s.Parameter.list(values)
	}
	if err != nil {
		return Sweep{}, err
	}
	if len(s.Values) > maxPoints {
		return Sweep{}, fmt.Errorf("%q has %d values: %d at most", text, len(s.Values), maxPoints)
	}
	return s, nil
}

// Names lists what can be swept.
func Names() []string {
	var names []string
	for _, p := range Parameters() {
		names = append(names, p.Name)
	}
	return names
}

// list reads values that are separated by commas.
func (p Parameter) list(text string) ([]Value, error) {
	var values []Value
	for _, word := range strings.Split(text, ",") {
		v, err := p.value(word)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

// span reads FROM..TO or FROM..TO/N: N values, each as many times the one
// before it as that one is of its own, because doubling a short TTL and doubling
// a long one tell equally much.
func (p Parameter) span(text string) ([]Value, error) {
	text, count, counted := strings.Cut(text, "/")
	points := defaultPoints
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 2 || n > maxPoints {
			return nil, fmt.Errorf("%q is no number of values from 2 to %d", count, maxPoints)
		}
		points = n
	}
	first, last, _ := strings.Cut(text, "..")
	from, err := p.value(first)
	if err != nil {
		return nil, err
	}
	to, err := p.value(last)
	if err != nil {
		return nil, err
	}
	if cmp.Compare(from, to) >= 0 {
		return nil, fmt.Errorf("%s..%s goes nowhere: the larger value comes last", first, last)
	}
	values := make([]Value, points)
	for i := range values {
		share := float64(i) / float64(points-1)
		values[i] = min(max(p.rounded(float64(from)*math.Pow(float64(to)/float64(from), share)), from), to)
	}
	values[0], values[points-1] = from, to
	slices.Sort(values)
	return slices.Compact(values), nil
}

func (p Parameter) value(word string) (Value, error) {
	word = strings.TrimSpace(word)
	if p.Counts {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%s: %q is no number from 1 on", p.Name, word)
		}
		return Value(n), nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is no duration such as 50ms or 1s", p.Name, word)
	}
	return Value(d), nil
}

// rounded keeps three digits: nobody asks for a TTL of 317.48021 ms.
func (p Parameter) rounded(x float64) Value {
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	if p.Counts {
		unit = max(unit, 1)
	}
	return Value(math.Round(x/unit) * unit)
}
