package reports

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/internal/timeline"
	"github.com/oversell/oversell/result"
)

// HTML is one page that needs nothing besides itself: no network, and no
// scripts, which only make it more comfortable.
func HTML() Format {
	return Format{
		Name:    "html",
		Ext:     "html",
		Summary: "one page to read in a browser: the verdict, a timeline of who held the lock, and why units were sold twice",
		Write:   writeHTML,
	}
}

//go:embed page
var pageFiles embed.FS

var (
	pageStyle    = mustRead("page/page.css")
	pageScript   = mustRead("page/page.js")
	pageTemplate = template.Must(template.ParseFS(pageFiles, "page/*.tmpl"))
)

func mustRead(name string) string {
	data, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err) // it is a part of the program
	}
	return string(data)
}

// policy lets the page's own style and script through and nothing else, whoever
// got what onto the page.
func policy() string {
	return "default-src 'none'; style-src " + hashOf(pageStyle) + "; script-src " + hashOf(pageScript) +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// shell is what every page has, whatever it is about.
type shell struct {
	Title, What, Footer string
	Policy              string
	Style               template.CSS
	Script              template.JS
}

func newShell(title, what, footer string) shell {
	return shell{
		Title: title, What: what, Footer: footer, Policy: policy(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
	}
}

// page is the page about one run or several.
type page struct {
	shell
	Runs         []runView
	NoTimeline   string
	TimelineLead string
	Shown        string
	Axis         axisView
	Plots        []*plotView
	Thinned      []string
	WhyTitle     string
	Whys         []whyView
	Tables       []tableView
	Groups       []groupView
	Compared     *comparedView // nil for one run
	Figures      []figuresView
	FiguresLead  string
}

func writeHTML(w io.Writer, runs []result.Run, opts Options) error {
	p, err := newPage(runs, opts)
	if err != nil {
		return err
	}
	return render(w, "page.tmpl", p)
}

func render(w io.Writer, name string, data any) error {
	var buf bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&buf, name, data); err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return flush(w, &buf)
}

// newPage gathers what the page shows. Of each run the timeline is kept as long
// as it takes to draw it.
func newPage(runs []result.Run, opts Options) (*page, error) {
	clean := scrub(runs, forTerminal)
	p := &page{
		shell:      newShell(pageTitle(clean), whatRuns(clean), "Written by oversell. Times are since each run’s start."),
		NoTimeline: "There is no history to draw from: the page tells what the result says.",
		Groups:     eventGroups(),
	}
	drawings := make([]*drawn, len(runs))
	budget := timeline.Ordinary().Share(len(runs))
	for i := range runs {
		d, err := newDrawn(runs[i], clean[i], i, len(runs), opts, budget)
		if err != nil {
			return nil, err
		}
		drawings[i] = d
	}
	axis := commonAxis(drawings)
	p.Axis = axis.view()
	p.Shown = fmt.Sprintf("%s to %s", axisTime(axis.at(axis.a), 1e6), axisTime(axis.at(axis.b), 1e6))
	commands := map[string]bool{}
	for _, d := range drawings {
		v := d.view()
		if commands[v.Command] {
			v.Command = "" // it stands beside another run
		}
		commands[v.Command] = true
		p.Runs = append(p.Runs, v)
		p.Figures = append(p.Figures, d.figures()...)
		if d.t == nil {
			continue
		}
		if d.neverStarted() {
			p.NoTimeline = "Nobody got to buy anything, so there is nothing to draw."
		} else {
			p.Plots = append(p.Plots, d.plot(axis))
			p.Thinned = append(p.Thinned, d.thinned()...)
		}
		p.Whys = append(p.Whys, d.why(axis))
		p.Tables = append(p.Tables, d.table())
	}
	p.TimelineLead, p.WhyTitle = timelineLead(drawings), whyTitle(drawings)
	p.FiguresLead = figuresLead(clean)
	if len(runs) > 1 {
		p.Compared = compare(drawings, axis)
	}
	if len(p.Whys) == 0 {
		p.Whys = withoutTimeline(drawings)
	}
	return p, nil
}

// drawn is one run on its way onto the page.
type drawn struct {
	r     result.Run // clean
	raw   result.Run
	t     *timeline.Timeline // nil without a history
	id    string             // before every id of the run: "" for a page's only run
	name  string             // "" for a page's only run
	alone bool
}

func newDrawn(raw, clean result.Run, i, n int, opts Options, b timeline.Budget) (*drawn, error) {
	d := &drawn{r: clean, raw: raw, alone: n == 1}
	if n > 1 {
		d.id, d.name = fmt.Sprintf("r%d-", i+1), fmt.Sprintf("%s, %s", clean.Scenario, lockName(clean))
	}
	if opts.Timeline == nil {
		return d, nil
	}
	t, err := opts.Timeline(raw, b)
	if err != nil {
		return nil, fmt.Errorf("read what happened under %s: %w", raw.Lock, err)
	}
	d.t = t
	return d, nil
}

func pageTitle(runs []result.Run) string {
	if len(runs) == 0 {
		return "oversell: nothing was run"
	}
	r := runs[0]
	if len(runs) > 1 {
		return fmt.Sprintf("oversell: %d runs", len(runs))
	}
	return fmt.Sprintf("oversell: %s under %s: %s", r.Scenario, shortLock(r), badge(r))
}

func whatRuns(runs []result.Run) string {
	switch {
	case len(runs) == 0:
		return "no runs"
	case len(runs) > 1 && !sameScenario(runs):
		return fmt.Sprintf("%d runs", len(runs))
	case len(runs) > 1:
		names := make([]string, len(runs))
		for i, r := range runs {
			names[i] = shortLock(r)
		}
		return runs[0].Scenario + " under " + printable.Cut(strings.Join(names, ", "), maxName)
	}
	r := runs[0]
	parts := []string{r.Scenario + " under " + lockName(r)}
	for _, s := range []string{r.Server, r.Backend} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " · ")
}

// tidy makes a string of a history safe to show: what can't be printed is shown
// as an escape, and what is too long is cut.
func tidy(s string) string { return printable.Cut(printable.Line(s), 600) }
