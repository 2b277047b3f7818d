package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// JUnit is for CI systems. A test case is a gate, not a verdict: a lock that
// oversold because it was expected to is a test case that passed.
func JUnit() Format {
	return Format{
		Name:    "junit",
		Ext:     "xml",
		Summary: "JUnit XML for CI systems: one test case a run, which passes when the gate does",
		Write:   writeJUnit,
	}
}

// The elements, in the order in which Jenkins' schema junit-10.xsd wants them.
// It knows properties of a suite only, so every run is a suite of its own.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name       string        `xml:"name,attr"`
		Tests      int           `xml:"tests,attr"`
		Failures   int           `xml:"failures,attr"`
		Errors     int           `xml:"errors,attr"`
		Skipped    int           `xml:"skipped,attr"`
		Time       string        `xml:"time,attr"`
		Properties []xmlProperty `xml:"properties>property"`
		Case       xmlCase       `xml:"testcase"`
	}
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlCase struct {
		ClassName string     `xml:"classname,attr"`
		Name      string     `xml:"name,attr"`
		Time      string     `xml:"time,attr"`
		Failure   *xmlResult `xml:"failure"`
		Error     *xmlResult `xml:"error"`
		SystemOut xmlText    `xml:"system-out"`
	}
	xmlResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	xmlText struct {
		Text string `xml:",cdata"` // which keeps line breaks readable in the file
	}
)

func writeJUnit(w io.Writer, runs []result.Run, _ Options) error {
	runs = scrub(runs, forXML)
	doc := xmlSuites{Name: "oversell"}
	var total int64
	for i, name := range caseNames(runs) {
		s := suiteOf(runs[i], name)
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Suites = append(doc.Suites, s)
		total += max(0, runs[i].DurationMS)
	}
	doc.Time = xmlSeconds(total)
	var buf bytes.Buffer
	buf.WriteString(xml.Header)
	enc := xml.NewEncoder(&buf)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("encode the results as JUnit XML: %w", err)
	}
	buf.WriteByte('\n')
	return flush(w, &buf)
}

func suiteOf(r result.Run, name string) xmlSuite {
	s := xmlSuite{
		Name:  className(r) + " " + name,
		Tests: 1,
		Time:  xmlSeconds(r.DurationMS),
		Properties: []xmlProperty{
			{"seed", strconv.FormatInt(r.Seed, 10)},
			{"server", r.Server},
			{"backend", r.Backend},
			{"simulated", strconv.FormatBool(r.Simulated)},
			{"expected", string(r.Expected)},
			{"verdict", string(r.Verdict)},
			{"dir", r.Dir},
			{"command", r.Command},
		},
		Case: xmlCase{
			ClassName: className(r),
			Name:      name,
			Time:      xmlSeconds(r.DurationMS),
			SystemOut: xmlText{systemOut(r)},
		},
	}
	bad := &xmlResult{Message: printable.Cut(reason(r), maxName), Type: string(r.Verdict), Text: failureText(r)}
	switch r.Counted() {
	case result.Pass:
	case result.Fail:
		s.Failures, s.Case.Failure = 1, bad
	default:
		s.Errors, s.Case.Error = 1, bad
	}
	return s
}

func className(r result.Run) string { return "oversell." + r.Scenario }

// caseNames gives every run a name that no other run of its class has: the
// lock's, with the server in brackets where several runs differ in it, and
// then a number.
func caseNames(runs []result.Run) []string {
	servers := make(map[[2]string]map[string]bool)
	for _, r := range runs {
		k := [2]string{r.Scenario, r.Lock}
		if servers[k] == nil {
			servers[k] = make(map[string]bool)
		}
		servers[k][r.Server] = true
	}
	taken := make(map[[2]string]bool)
	names := make([]string, len(runs))
	for i, r := range runs {
		base := r.Lock
		if len(servers[[2]string{r.Scenario, r.Lock}]) > 1 {
			base += " [" + r.Server + "]"
		}
		name := base
		for n := 2; taken[[2]string{r.Scenario, name}]; n++ {
			name = fmt.Sprintf("%s #%d", base, n)
		}
		taken[[2]string{r.Scenario, name}] = true
		names[i] = name
	}
	return names
}

// systemOut tells the run whatever its gate; a lock that broke as it was
// expected to says so first.
func systemOut(r result.Run) string {
	first := fmt.Sprintf("expected %s: %s", r.Expected, r.Verdict)
	if r.Baseline != nil {
		first += "\nagainst the baseline: " + strings.Join(strings.Fields(since(r)), " ")
	}
	return fmt.Sprintf("%s\n%s\n%s\n%s", first, Line(r), counts(r), told(r))
}

func failureText(r result.Run) string {
	return fmt.Sprintf("%s\n%s\n%s\n%s", reason(r), counts(r), place(r), told(r))
}

func told(r result.Run) string {
	var b strings.Builder
	for _, s := range sections(r) {
		b.WriteString(s.title + ":\n")
		for _, line := range s.lines {
			b.WriteString("  " + line + "\n")
		}
	}
	if r.Command != "" {
		b.WriteString("To repeat: " + r.Command + "\n")
	}
	return b.String()
}

func xmlSeconds(ms int64) string { return fmt.Sprintf("%.3f", float64(max(0, ms))/1000) }

// forXML drops what XML 1.0 doesn't allow, and the control characters that it
// does, and marks that reverse the direction of text: CI systems put these
// strings into web pages and terminals.
func forXML(s string, max int) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1, r == 0xfffe, r == 0xffff:
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r):
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	if max > 0 {
		return printable.Cut(b.String(), max)
	}
	return b.String()
}
