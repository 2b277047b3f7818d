package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// axis is the time that all plots of a page share. a and b bound what is shown
// at first, as parts of it.
type axis struct {
	from, to time.Duration
	a, b     float64
}

type axisView struct {
	FromNS, ToNS int64
	A, B         string
}

func (x axis) view() axisView {
	return axisView{FromNS: int64(x.from), ToNS: int64(x.to), A: part(x.a), B: part(x.b)}
}

func (x axis) len() time.Duration { return max(1, x.to-x.from) }

// at is the time at a part of the axis.
func (x axis) at(part float64) time.Duration {
	return x.from + time.Duration(part*float64(x.len()))
}

// of is where on the axis a time is, from 0 to 1.
func (x axis) of(t time.Duration) float64 {
	return min(1, max(0, float64(t-x.from)/float64(x.len())))
}

// spot is where a span is drawn, in percent of the plot.
type spot struct{ X, W string }

func (x axis) place(from, to time.Duration) spot {
	a, b := x.of(from), x.of(max(from, to))
	return spot{percent(a), percent(max(b-a, 1e-7))}
}

func (x axis) point(t time.Duration) string { return percent(x.of(t)) }

// percent writes a part of the axis: fine enough for a microsecond of a minute.
func percent(p float64) string { return trimmed(100*p, 6) }

func part(p float64) string { return trimmed(p, 8) }

func trimmed(f float64, digits int) string {
	s := strconv.FormatFloat(f, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// commonAxis spans all runs, and opens around the first thing worth a look.
func commonAxis(ds []*drawn) axis {
	x := axis{to: 1, b: 1}
	for _, d := range ds {
		if d.t != nil {
			x.to = max(x.to, d.t.To)
		}
	}
	for _, harm := range []bool{true, false} {
		for _, d := range ds {
			if d.t == nil || harm && len(d.t.Harm()) == 0 || !harm && len(d.t.Violations) == 0 {
				continue
			}
			o := d.t.Opening()
			x.a, x.b = x.of(o.From), x.of(o.To)
			return x
		}
	}
	return x
}

// tickView is one line of the grid and its time.
type tickView struct{ X, Text string }

// maxTicks are on the axis before a script knows its width.
const maxTicks = 4

// grid are the ticks of the part that is shown at first.
func (x axis) grid() []tickView {
	from, to := x.at(x.a), x.at(x.b)
	step := niceStep(to-from, maxTicks)
	var ticks []tickView
	for t := (from + step - 1) / step * step; t <= to; t += step {
		at := float64(t-from) / float64(max(1, to-from))
		v := tickView{X: percent(at)}
		if at < 0.8 { // else there is no room for it on a narrow page
			v.Text = axisTime(t, float64(step))
		}
		ticks = append(ticks, v)
	}
	return ticks
}

// niceStep is 1, 2 or 5 times a power of ten, at most n of which fit.
func niceStep(span time.Duration, n int) time.Duration {
	raw := math.Max(1, float64(span)/float64(n))
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= raw {
			return time.Duration(m * p)
		}
	}
	return time.Duration(10 * p)
}

// axisTime writes a time with as many digits as a step of so many nanoseconds needs.
func axisTime(t time.Duration, step float64) string {
	digits := max(0, min(6, int(math.Ceil(-math.Log10(step/1e9)-1e-9))))
	return strconv.FormatFloat(t.Seconds(), 'f', digits, 64) + " s"
}

// timeOf writes a moment of the run.
func timeOf(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// lengthOf writes how long something took.
func lengthOf(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return trimmed(float64(d)/1e6, 2) + " ms"
}
