package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/printable"
)

// Schedule is an order of commands that broke something, step by step.
type Schedule struct {
	Lock    string
	Broke   string // "oversold"
	Case    string // buyers, stock, hazards and bounds
	How     string // how short it is
	Command string // plays it; may be empty
	Stock   int
	Buyers  []string
	Steps   []ScheduleStep
	Tale    []string
}

// ScheduleStep is one event of a schedule, and what there was after it.
type ScheduleStep struct {
	At      time.Duration
	Buyer   string // "" for what no buyer does
	Text    string
	Command string // what reached the server or the inventory; "" for none
	Key     string
	Stock   int
	Orders  int
}

// schedulePage is the page about one schedule or several.
type schedulePage struct {
	shell
	Schedules []scheduleView
}

type scheduleView struct {
	ID, Lock, Badge, Headline, Case, How, Command string
	Tale                                          []string
	Columns                                       []seqColumn
	Rows                                          []seqRow
}

type seqColumn struct {
	Name string
	Key  bool
}

type seqRow struct {
	ID     string
	N      int
	At     string
	World  bool // no buyer did it
	Cells  []seqCell
	Stock  int
	Orders int
	Over   bool
}

type seqCell struct {
	Class, Text, Dir string
	After            string // behind the text
}

// WriteSchedules writes one page about schedules: a column for each buyer, and
// the lock's key in Redis between them. What the strings contain doesn't matter.
func WriteSchedules(w io.Writer, schedules []Schedule) error {
	p := schedulePage{shell: newShell(scheduleTitle(schedules), "a schedule that oversell explore has found", "Written by oversell. Times are on the schedule’s own clock.")}
	for i, s := range schedules {
		p.Schedules = append(p.Schedules, s.view(i))
	}
	return render(w, "schedule.tmpl", p)
}

func scheduleTitle(schedules []Schedule) string {
	if len(schedules) == 1 {
		return fmt.Sprintf("oversell: %s: %s in %s", tidy(schedules[0].Lock), tidy(schedules[0].Broke), plural(len(schedules[0].Steps), "event"))
	}
	return fmt.Sprintf("oversell: %s", plural(len(schedules), "schedule"))
}

func (s Schedule) view(i int) scheduleView {
	v := scheduleView{
		ID: fmt.Sprintf("s%d-", i+1), Lock: tidy(s.Lock), Badge: strings.ToUpper(tidy(s.Broke)),
		Case: tidy(s.Case), How: printable.Sentence(tidy(s.How)) + ".", Command: forTerminal(s.Command, 0),
	}
	for _, line := range s.Tale {
		v.Tale = append(v.Tale, tidy(line))
	}
	v.Headline = v.Lock
	if n := len(v.Tale); n > 0 {
		v.Headline = v.Tale[n-1]
	}
	middle := (len(s.Buyers) + 1) / 2
	for n, b := range s.Buyers {
		if n == middle {
			v.Columns = append(v.Columns, seqColumn{"key in Redis", true})
		}
		v.Columns = append(v.Columns, seqColumn{Name: "buyer " + tidy(b)})
	}
	if len(s.Buyers) <= middle {
		v.Columns = append(v.Columns, seqColumn{"key in Redis", true})
	}
	before := "free"
	for n, st := range s.Steps {
		v.Rows = append(v.Rows, s.row(v.ID, n+1, st, before, middle))
		before = st.Key
	}
	return v
}

func (s Schedule) row(id string, n int, st ScheduleStep, before string, middle int) seqRow {
	row := seqRow{ID: fmt.Sprintf("%sstep%d", id, n), N: n, At: lengthOf(st.At), Stock: st.Stock, Orders: st.Orders, Over: st.Orders > s.Stock}
	who := slices.Index(s.Buyers, st.Buyer)
	row.World = who < 0
	key := seqCell{Class: "key", Text: tidy(st.Key)}
	if st.Key == "free" {
		key.Class += " free"
	}
	onServer := st.Command != "" && st.Command == strings.ToUpper(st.Command) // steps of the purchase are written small
	switch {
	case row.World:
		key.Text, key.After = tidy(st.Text), "· the key is "+tidy(st.Key)
	case onServer && who < middle:
		key.Dir = "→ "
	case onServer:
		key.Dir = "← "
	}
	if !row.World && ownerOf(st.Key) != ownerOf(before) {
		key.Class += " changed"
	}
	for i := range s.Buyers {
		if i == middle {
			row.Cells = append(row.Cells, key)
		}
		cell := seqCell{}
		if i == who {
			cell.Class, cell.Text = "act", tidy(st.Text)
		}
		row.Cells = append(row.Cells, cell)
	}
	if len(s.Buyers) <= middle {
		row.Cells = append(row.Cells, key)
	}
	return row
}

// ownerOf is whose a key is, without its time to live.
func ownerOf(key string) string {
	who, _, _ := strings.Cut(key, ",")
	return who
}
