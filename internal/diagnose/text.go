package diagnose

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/oversell/oversell/internal/printable"
)

// Headline is the verdict in one sentence.
func (r Report) Headline() string {
	problems, risks := r.count(Problem), r.count(Risk)
	also := ""
	if risks > 0 {
		also = fmt.Sprintf(" (and %d %s)", risks, plural(risks, "risk", "risks"))
	}
	switch r.Verdict {
	case Ailing:
		return fmt.Sprintf("%d %s%s", problems, plural(problems, "problem", "problems"), also)
	case Unclear:
		return "UNKNOWN: no problem was found, but not everything could be asked" + also
	}
	return "no problem was found" + also
}

func (r Report) count(l Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// Sorted are the findings, problems first.
func (r Report) Sorted() []Finding {
	var out []Finding
	for _, l := range []Level{Problem, Risk} {
		for _, f := range r.Findings {
			if f.Level == l {
				out = append(out, f)
			}
		}
	}
	return out
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// Text writes the report for a terminal: the verdict, what led to it, and what
// was seen.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	line("%s: %s", r.Target, r.Headline())
	for _, f := range r.Sorted() {
		line("%-7s  %s: %s", f.Level, f.About, f.Text)
		line("         hint: %s", f.Hint)
	}
	for _, u := range r.Unasked {
		line("unknown  %s: %s", u.Command, u.Why)
	}
	for _, t := range r.Tables() {
		b.WriteString("\n")
		line("%s", t.Title)
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.Header}, t.Rows...) {
			for i := range row {
				row[i] = printable.Line(row[i])
			}
			if len(row) > 0 {
				fmt.Fprintf(tw, "  %s\n", strings.Join(row, "\t"))
			}
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Table is one section of the page.
type Table struct {
	Title  string
	Header []string // empty for pairs of a name and a value
	Rows   [][]string
}

// Tables are the sections of the page. Those without rows are left out.
func (r Report) Tables() []Table {
	var out []Table
	for _, t := range []Table{r.serverTable(), r.holderTable(), r.eternalTable(), r.slowTable(), r.connectionTable()} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (r Report) serverTable() Table {
	s := r.Server
	t := Table{Title: "Server"}
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, []string{name, value})
		}
	}
	add("version", s.Version)
	add("role", s.Role)
	if s.UptimeS != nil {
		add("up for", (time.Duration(*s.UptimeS) * time.Second).String())
	}
	add("keys", whole(s.Keys))
	add("commands/s", whole(s.CommandsPS))
	if len(s.PingMS) > 0 {
		add("ping", fmt.Sprintf("%v ms", s.PingMS))
	}
	if s.Memory.Used != nil && s.Memory.Max != nil {
		limit := "no limit"
		if *s.Memory.Max > 0 {
			limit = "of " + bytes(*s.Memory.Max)
		}
		add("memory", fmt.Sprintf("%s, %s, %s, %s evicted", bytes(*s.Memory.Used), limit, s.Memory.Policy, orUnknown(whole(s.Memory.Evicted))))
	}
	if r.Connections != nil {
		add("connections", r.Connections.sum())
	}
	add("persistence", s.Persistence)
	for _, replica := range s.Replicas {
		add("replica", replica)
	}
	return t
}

func whole(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func (r Report) holderTable() Table {
	if r.Keys == nil {
		return Table{}
	}
	k := r.Keys
	t := Table{
		Title:  fmt.Sprintf("Longest holders (%d of %d locks, watched for %s)", k.Watched, k.Locks, milliseconds(k.SampleMS)),
		Header: []string{"KEY", "HELD AT LEAST", "EXPIRES IN", "RENEWED"},
	}
	for _, h := range k.Longest {
		renewed := fmt.Sprint(h.Renewals)
		if h.Unsure {
			renewed += ", or another holder"
		}
		expires := "never"
		if h.LeftMS >= 0 {
			expires = milliseconds(h.LeftMS)
		}
		t.Rows = append(t.Rows, []string{cut(h.Key), milliseconds(h.HeldMS), expires, renewed})
	}
	return t
}

func milliseconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func (r Report) eternalTable() Table {
	if r.Keys == nil {
		return Table{}
	}
	t := Table{Title: fmt.Sprintf("Locks without a TTL (%d)", r.Keys.Eternals), Header: []string{"KEY", "UNTOUCHED FOR"}}
	for _, k := range r.Keys.Eternal {
		idle := "unknown"
		if k.IdleS != nil {
			idle = (time.Duration(*k.IdleS) * time.Second).String()
		}
		t.Rows = append(t.Rows, []string{cut(k.Key), idle})
	}
	return t
}

func (r Report) slowTable() Table {
	if r.SlowLog == nil {
		return Table{}
	}
	t := Table{
		Title:  fmt.Sprintf("Slow log (%d entries looked at, %d of the last hour)", r.SlowLog.Entries, r.SlowLog.Recent),
		Header: []string{"TOOK", "COMMAND", "CLIENT", "AT"},
	}
	for _, s := range r.SlowLog.Slowest {
		client := s.Client
		if s.Name != "" {
			client = s.Name + " at " + client
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%.3f ms", s.TookMS), s.Command, cut(client), s.At.Format(time.RFC3339)})
	}
	return t
}

// sum is how many connections there are, in words.
func (c *Connections) sum() string {
	text := orUnknown(whole(c.Connected))
	if c.Max != nil {
		text += fmt.Sprintf(" of at most %d", *c.Max)
	}
	return fmt.Sprintf("%s, %s blocked, %s rejected so far", text, orUnknown(whole(c.Blocked)), orUnknown(whole(c.Rejected)))
}

func (r Report) connectionTable() Table {
	if r.Connections == nil {
		return Table{}
	}
	c := r.Connections
	t := Table{
		Title:  "Connections, without this one",
		Header: []string{"COUNT", "HOST", "NAME", "LAST COMMAND", "LONGEST IDLE", "OLDEST", "WAITING REPLIES"},
	}
	for _, g := range c.Groups {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(g.Count), cut(g.Host), cut(g.Name), g.Command, (time.Duration(g.IdleS) * time.Second).String(),
			(time.Duration(g.AgeS) * time.Second).String(), bytes(g.Output),
		})
	}
	if c.Others > 0 {
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.Others), "others", "", "", "", "", ""})
	}
	return t
}
