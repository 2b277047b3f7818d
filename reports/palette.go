package reports

import (
	"strings"

	"github.com/fatih/color"

	"github.com/oversell/oversell/result"
)

// palette colours words. Nothing is said by colour alone.
type palette struct {
	good, bad, doubtful, strong func(...any) string
}

// newPalette decides by on alone: whether colours are wanted is a property of
// the writer, and the library's own guess looks at stdout.
func newPalette(on bool) palette {
	paint := func(attrs ...color.Attribute) func(...any) string {
		c := color.New(attrs...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c.SprintFunc()
	}
	return palette{
		good:     paint(color.FgGreen),
		bad:      paint(color.FgRed),
		doubtful: paint(color.FgYellow),
		strong:   paint(color.Bold),
	}
}

// Paint colours a word as the verdict is coloured that it stands for.
func Paint(v result.Verdict, word string) string {
	p := newPalette(true)
	switch v {
	case result.OK:
		return p.good(word)
	case result.Inconclusive:
		return p.doubtful(word)
	}
	return p.bad(word)
}

func (p palette) verdict(v result.Verdict) string {
	switch v {
	case result.OK:
		return p.good(v)
	case result.Inconclusive:
		return p.doubtful(v)
	default:
		return p.bad(v)
	}
}

func (p palette) gate(g result.Gate) string { return p.gateWord(g, gateName(g)) }

// gateLoud is the gate in capitals, for the line that sums everything up.
func (p palette) gateLoud(g result.Gate) string {
	return p.gateWord(g, strings.ToUpper(gateName(g)))
}

func (p palette) gateWord(g result.Gate, word string) string {
	switch g {
	case result.Pass:
		return p.good(word)
	case result.Fail:
		return p.bad(word)
	default:
		return p.doubtful(word)
	}
}

// gateName is one of the three gates, whatever g is: an unknown word is never
// a pass.
func gateName(g result.Gate) string {
	if g == result.Pass || g == result.Fail {
		return string(g)
	}
	return string(result.GateUnresolved)
}
