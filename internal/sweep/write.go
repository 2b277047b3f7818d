package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encode the sweep: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}

// CSV writes a row for each point of each curve.
func (r Report) CSV(w io.Writer) error {
	value := "value"
	if r.Unit != "" {
		value += "_" + r.Unit
	}
	c := csv.NewWriter(w)
	rows := [][]string{{
		"scenario", "lock", "server", "parameter", value, "trials", "inconclusive", "oversold",
		"rate", "rate_low", "rate_high", "units_mean", "units_max", "call_p99_ms",
	}}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	for _, curve := range r.Curves {
		for _, p := range curve.Points {
			rows = append(rows, []string{
				curve.Scenario, curve.Lock, curve.Server, r.Parameter, number(p.Value),
				strconv.Itoa(p.Trials), strconv.Itoa(p.Inconclusive), strconv.Itoa(p.Oversold),
				number(p.Rate.Share), number(p.Rate.Low), number(p.Rate.High),
				number(p.UnitsMean), strconv.Itoa(p.UnitsMax), number(p.CallP99MS),
			})
		}
	}
	return c.WriteAll(rows)
}

// Text writes each curve as a table with bars, its threshold and the advice.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	if r.Simulated {
		b.WriteString("SIMULATED: these results come from an imitation of Redis inside this process, not from real servers.\n\n")
	}
	for _, c := range r.Curves {
		r.writeCurve(&b, c)
	}
	fmt.Fprintf(&b, "Gate: %s — %s.\nFiles: %s\n\nTo repeat:\n%s\n",
		strings.ToUpper(string(r.Gate)), r.why(), printable.Line(r.Dir), printable.Line(r.Command))
	_, err := io.WriteString(w, b.String())
	return err
}

// bar is the width of the longest bar.
const bar = 30

func (r Report) writeCurve(b *strings.Builder, c Curve) {
	name := c.Lock
	if c.Alias != "" {
		name += " (" + c.Alias + ")"
	}
	fmt.Fprintf(b, "%s, %s on %s\n", printable.Line(c.Scenario), printable.Line(name), printable.Line(c.Server))
	most := 1.0
	rows := [][]string{{r.Parameter, "oversold", "too many", "P99 of calls"}}
	for _, p := range c.Points {
		most = max(most, p.UnitsMean)
		rows = append(rows, []string{p.Word, p.share(), fmt.Sprintf("%.1f", p.UnitsMean), fmt.Sprintf("%.0f ms", p.CallP99MS)})
	}
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], len(cell))
		}
	}
	for i, row := range rows {
		line := "  "
		for k, cell := range row {
			line += fmt.Sprintf("%*s  ", wide[k], cell)
		}
		if i > 0 {
			units := c.Points[i-1].UnitsMean
			length := int(bar*units/most + 0.5)
			if units > 0 {
				length = max(length, 1)
			}
			line += strings.Repeat("#", length)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(b, "  Threshold: %s.\n", c.Threshold.Text)
	if c.Advice != "" {
		fmt.Fprintf(b, "  Advice: %s\n", printable.Line(c.Advice))
	}
	b.WriteByte('\n')
}

// share is "2 of 3", among the trials that say something.
func (p Point) share() string {
	word := fmt.Sprintf("%d of %d", p.Oversold, p.Conclusive())
	if p.Inconclusive > 0 {
		word += fmt.Sprintf(" (%d inconclusive)", p.Inconclusive)
	}
	return word
}

// why says what made the gate what it is.
func (r Report) why() string {
	for _, c := range r.Curves {
		for _, p := range c.Points {
			if r.Gate == result.Fail && c.Claims && p.Violations > 0 {
				return fmt.Sprintf("%s claims to withstand %s, and broke %d times with a %s of %s",
					c.Lock, c.Hazard, p.Violations, r.Parameter, p.Word)
			}
			if r.Gate == result.GateUnresolved && p.Inconclusive > 0 {
				return fmt.Sprintf("with a %s of %s, %d of %d trials of %s are inconclusive", r.Parameter, p.Word, p.Inconclusive, p.Trials, c.Lock)
			}
		}
	}
	switch {
	case r.Gate == result.GateUnresolved && r.Simulated:
		return "its servers were SIMULATED, and only --allow-simulated lets such a result count"
	case r.Gate == result.Pass:
		return "no lock broke that claims to withstand the hazard; the others have no threshold to keep to"
	}
	return "nothing can be concluded"
}
