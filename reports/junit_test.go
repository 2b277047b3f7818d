package reports_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/reports"
	"github.com/oversell/oversell/result"
)

func TestJUnitFitsJenkinsAndGitLab(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := parseXML(t, write(t, reports.JUnit(), c.runs, reports.Options{}))
			require.Equal(t, "testsuites", root.name)
			validate(t, root)
			var seen []string
			var tests, failures, faults int
			for _, suite := range root.children {
				for _, tc := range suite.all("testcase") {
					tests++
					failures += len(tc.all("failure"))
					faults += len(tc.all("error"))
					id := tc.attrs["classname"] + "\x00" + tc.attrs["name"]
					assert.NotContains(t, seen, id, "GitLab drops the second of two test cases of one name")
					seen = append(seen, id)
					assert.True(t, strings.HasPrefix(tc.attrs["classname"], "oversell."))
					assert.Less(t, len(tc.attrs["name"]), 1000)
					assert.NotEmpty(t, tc.all("system-out")[0].text)
				}
				assert.Empty(t, suite.all("skipped"))
			}
			assert.Equal(t, len(c.runs), tests)
			assert.Equal(t, strconv.Itoa(tests), root.attrs["tests"])
			assert.Equal(t, strconv.Itoa(failures), root.attrs["failures"])
			assert.Equal(t, strconv.Itoa(faults), root.attrs["errors"])
		})
	}
}

func TestJUnitGatesAndVerdicts(t *testing.T) {
	t.Parallel()
	runs := []result.Run{naive(), notProvoked(), inconclusive()}
	root := parseXML(t, write(t, reports.JUnit(), runs, reports.Options{}))
	require.Len(t, root.children, 3)

	met := root.children[0].all("testcase")[0]
	assert.Equal(t, "oversell.ttl-expiry", met.attrs["classname"])
	assert.Equal(t, "setnx-expire-del", met.attrs["name"])
	assert.Equal(t, "3.214", met.attrs["time"])
	assert.Empty(t, met.all("failure"), "a lock that oversold as expected meets its gate")
	out := met.all("system-out")[0].text
	assert.True(t, strings.HasPrefix(out, "expected not-ok: oversold\n"), out)
	assert.Contains(t, out, "its DEL frees the lock of instance 4")
	assert.Contains(t, out, "Evidence:\n  0.212 s  slow-call: the call of purchase 2-17 took 451 ms")

	failed := root.children[1].all("testcase")[0]
	assert.Equal(t, "setnx-expire-del #2", failed.attrs["name"])
	require.Len(t, failed.all("failure"), 1)
	failure := failed.all("failure")[0]
	assert.Equal(t, "ok", failure.attrs["type"])
	assert.Equal(t, "naive was expected to break and came out ok: the harness failed to provoke it", failure.attrs["message"])
	assert.Contains(t, failure.text, failure.attrs["message"]+"\nsold 100 of 100; 0 left\n")
	assert.Contains(t, failure.text, "To repeat: "+repeat)

	unresolved := root.children[2].all("testcase")[0]
	assert.Empty(t, unresolved.all("failure"))
	require.Len(t, unresolved.all("error"), 1)
	assert.Contains(t, unresolved.all("error")[0].text, "this machine ran nothing for 412 ms")
}

func TestJUnitProperties(t *testing.T) {
	t.Parallel()
	root := parseXML(t, write(t, reports.JUnit(), []result.Run{naive()}, reports.Options{}))
	got := make(map[string]string)
	for _, p := range root.children[0].all("properties")[0].children {
		got[p.attrs["name"]] = p.attrs["value"]
	}
	assert.Equal(t, map[string]string{
		"seed": "42", "server": "Redis 7.0.15", "backend": "docker", "simulated": "false",
		"expected": "not-ok", "verdict": "oversold",
		"dir": "runs/20250101-120000-ttl-expiry-naive", "command": repeat,
	}, got)
}

func TestJUnitNames(t *testing.T) {
	t.Parallel()
	lock := func(scenario, name, server string) result.Run {
		return result.Run{Scenario: scenario, Lock: name, Server: server}
	}
	runs := []result.Run{
		lock("a", "naive", "Redis 7.0.15"),
		lock("a", "naive", "Redis 8.0.2"),
		lock("a", "naive", "Redis 8.0.2"),
		lock("a", "naive [Redis 8.0.2] #2", "x"), // the name that the third would have had
		lock("a", "safe", "Redis 7.0.15"),
		lock("a", "safe", "Redis 7.0.15"),
		lock("b", "naive", "Redis 7.0.15"), // another class
	}
	root := parseXML(t, write(t, reports.JUnit(), runs, reports.Options{}))
	var got []string
	for _, s := range root.children {
		tc := s.all("testcase")[0]
		got = append(got, tc.attrs["classname"]+" "+tc.attrs["name"])
	}
	assert.Equal(t, []string{
		"oversell.a naive [Redis 7.0.15]",
		"oversell.a naive [Redis 8.0.2]",
		"oversell.a naive [Redis 8.0.2] #2",
		"oversell.a naive [Redis 8.0.2] #2 #2",
		"oversell.a safe",
		"oversell.a safe #2",
		"oversell.b naive",
	}, got)
}

func TestJUnitHasOnlyCharactersOfXML(t *testing.T) {
	t.Parallel()
	var every strings.Builder
	for r := rune(0); r < 0x3000; r++ {
		every.WriteRune(r)
	}
	every.WriteString("\ufffd\ufffe\uffff\U0001f6d2 \xff\xc0\x80 ]]>")
	r := naive()
	r.Lock, r.Command, r.Story = every.String(), every.String(), []string{every.String()}
	r.Gate = result.Fail
	out := write(t, reports.JUnit(), []result.Run{r}, reports.Options{})
	for _, c := range out {
		assert.False(t, unicode.IsControl(c) && c != '\n', "%U", c)
		assert.False(t, c == 0xfffe || c == 0xffff, "%U", c)
	}
	story := parseXML(t, out).children[0].all("testcase")[0].all("failure")[0].text
	assert.Contains(t, story, "\ufffd\U0001f6d2  ]]>", "all else is kept")
}

// node is an element as a reader finds it.
type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

func (n *node) all(name string) []*node {
	var found []*node
	for _, c := range n.children {
		if c.name == name {
			found = append(found, c)
		}
	}
	return found
}

func parseXML(t *testing.T, text string) *node {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	root := &node{}
	open := []*node{root}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			require.Len(t, root.children, 1)
			return root.children[0]
		}
		require.NoError(t, err)
		top := open[len(open)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			n := &node{name: tok.Name.Local, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				require.NotContains(t, n.attrs, a.Name.Local)
				n.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.text += string(tok)
		}
	}
}

// grammar is what Jenkins' junit-10.xsd says of the elements that are used
// here. The order of a suite's children is GitLab's and Ant's too.
var grammar = map[string]struct {
	required, optional, children []string
	text                         bool
}{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}, false},
	"testsuite": {[]string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package"},
		[]string{"properties", "testcase", "system-out", "system-err"}, false},
	"properties": {nil, nil, []string{"property"}, false},
	"property":   {[]string{"name", "value"}, nil, nil, false},
	"testcase":   {[]string{"name"}, []string{"time", "classname", "group"}, []string{"skipped", "failure", "error", "system-out", "system-err"}, false},
	"failure":    {nil, []string{"type", "message"}, nil, true},
	"error":      {nil, []string{"type", "message"}, nil, true},
	"system-out": {nil, nil, nil, true},
}

var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

func validate(t *testing.T, n *node) {
	t.Helper()
	rule, known := grammar[n.name]
	require.True(t, known, "<%s> is no element of JUnit", n.name)
	for _, name := range rule.required {
		assert.Contains(t, n.attrs, name, n.name)
	}
	for name, value := range n.attrs {
		assert.True(t, slices.Contains(rule.required, name) || slices.Contains(rule.optional, name), "<%s %s>", n.name, name)
		if name == "time" {
			assert.Regexp(t, surefireTime, value)
		}
		if slices.Contains([]string{"tests", "failures", "errors", "skipped"}, name) {
			count, err := strconv.Atoi(value)
			assert.NoError(t, err, fmt.Sprintf("<%s %s>", n.name, name))
			assert.GreaterOrEqual(t, count, 0)
		}
	}
	if !rule.text {
		assert.Empty(t, strings.TrimSpace(n.text), n.name)
	}
	last := 0
	for _, c := range n.children {
		place := slices.Index(rule.children, c.name)
		require.GreaterOrEqual(t, place, last, "<%s> in <%s>", c.name, n.name)
		last = place
		validate(t, c)
	}
}
