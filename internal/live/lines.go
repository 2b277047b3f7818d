package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/printable"
)

// erase goes to the beginning of the terminal's line and empties it.
const erase = "\r\x1b[K"

// redraw replaces the live line by the lines that stay and the live line as it
// is now. One column stays free: a full line would wrap on some terminals.
func (d *Display) redraw(now time.Time) string {
	live := ""
	if d.showing {
		live = printable.Cut(d.line(now), d.width-1)
	}
	if live == d.drawn && len(d.lines) == 0 {
		return ""
	}
	var b strings.Builder
	if d.drawn != "" {
		b.WriteString(erase)
	}
	d.stay(&b)
	b.WriteString(live)
	d.drawn = live
	return b.String()
}

// plain is the lines that stay, and the run's line when its time has come.
func (d *Display) plain(now time.Time) string {
	var b strings.Builder
	d.stay(&b)
	if d.showing && !now.Before(d.due) {
		b.WriteString(d.line(now) + "\n")
		d.due = now.Add(beat)
	}
	return b.String()
}

func (d *Display) stay(b *strings.Builder) {
	for _, line := range d.lines {
		b.WriteString(printable.Line(line) + "\n")
	}
}

// line is the status in words. Its time goes on by itself, so that a run in
// which nothing moves can be told from a display that doesn't.
func (d *Display) line(now time.Time) string {
	s := d.status
	parts := []string{s.Scenario, s.Lock}
	if s.Part != "" {
		parts = slices.Insert(parts, 0, s.Part)
	}
	if s.Trials > 1 {
		parts = append(parts, fmt.Sprintf("trial %d of %d", s.Trial, s.Trials))
	}
	if s.Phase != "" {
		parts = append(parts, s.Phase)
	}
	parts = append(parts,
		fmt.Sprintf("sold %d", s.Sold),
		fmt.Sprintf("left %d", s.Left),
		fmt.Sprintf("holders %d", s.Holders),
		fmt.Sprintf("%.1f s", (s.Elapsed+now.Sub(d.at)).Seconds()),
	)
	return printable.Line(strings.Join(parts, "  "))
}
