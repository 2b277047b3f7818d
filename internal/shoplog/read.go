package shoplog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// line is a line of the log that the mapping knows.
type line struct {
	n        int64 // its number, counted through all files
	at       time.Time
	kind     string
	article  string
	holder   string
	instance string
	order    string
	units    *int
	left     *int
}

// Log is what was read of a log.
type Log struct {
	Lines   int64 // all of them
	Known   int   // those that the mapping knows
	Strange int   // those that aren't JSON objects

	mapping Mapping
	lines   []line
}

// NewLog begins a log that is read with a mapping.
func NewLog(m Mapping) *Log { return &Log{mapping: m} }

// Read adds a file, which is called name in errors. Lines about other things
// are passed over, and so is a last line that was cut short. What the mapping
// knows must be readable: an error names the line.
func (l *Log) Read(r io.Reader, name string) error {
	means := map[string]string{}
	for kind, words := range l.mapping.Events.words() {
		for _, w := range words {
			means[w] = kind
		}
	}
	br := bufio.NewReaderSize(r, 256<<10)
	for n := 1; ; n++ {
		text, err := br.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		last := err != nil
		if len(text) > 0 {
			l.Lines++
			if err := l.add(text, means); err != nil {
				return fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		if last {
			return nil
		}
	}
}

func (l *Log) add(text []byte, means map[string]string) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil || fields == nil {
		if len(bytes.TrimSpace(text)) > 0 {
			l.Strange++
		}
		return nil
	}
	word, ok := valueOf(fields, l.mapping.Event)
	kind := means[word]
	if !ok || kind == "" {
		return nil
	}
	e, err := l.mapping.line(kind, fields)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", word, kind, err)
	}
	e.n = l.Lines
	l.Known++
	l.lines = append(l.lines, e)
	return nil
}

// line reads the fields that matter for an event of a kind.
func (m Mapping) line(kind string, fields map[string]any) (line, error) {
	e := line{kind: kind}
	text, ok := valueOf(fields, m.Time)
	if !ok {
		return e, fmt.Errorf("it has no field %q, which time names", m.Time)
	}
	var err error
	if e.at, err = readTime(text, m.TimeFormat); err != nil {
		return e, fmt.Errorf("the field %q: %w in the format %s", m.Time, err, m.TimeFormat)
	}
	var holder []string
	for _, f := range m.Holder {
		if v, ok := valueOf(fields, f); ok {
			holder = append(holder, v)
		}
	}
	if len(holder) == len(m.Holder) {
		e.holder = strings.Join(holder, "/")
	}
	locks := kind == acquired || kind == released || kind == lost
	if locks && e.holder == "" {
		return e, fmt.Errorf("it lacks a field of %s, which holder names", strings.Join(m.Holder, ", "))
	}
	e.instance, _ = valueOf(fields, m.Instance)
	if e.instance == "" && len(holder) > 0 {
		e.instance = holder[0]
	}
	if e.article, ok = valueOf(fields, m.Article); !ok && m.Article != "" {
		return e, fmt.Errorf("it has no field %q, which article names", m.Article)
	}
	e.order, _ = valueOf(fields, m.Order)
	if e.units, err = number(fields, m.Units); err != nil {
		return e, err
	}
	if e.units == nil && (kind == counted || kind == added) {
		return e, fmt.Errorf("it has no field %q, which units names", m.Units)
	}
	if e.units != nil && (*e.units < 0 || kind == sold && *e.units > maxUnits) {
		return e, fmt.Errorf("the field %q: %d is no number of units", m.Units, *e.units)
	}
	e.left, err = number(fields, m.Left)
	return e, err
}

// maxUnits bounds one sale: each unit becomes an order.
const maxUnits = 10_000

// valueOf is a field's value as text: "lock.key" is looked for as it stands, and
// then as the field key within lock. Objects and lists have no text.
func valueOf(fields map[string]any, path string) (string, bool) {
	if path == "" {
		return "", false
	}
	if v, ok := fields[path]; ok {
		return textOf(v)
	}
	for i := range path {
		if path[i] != '.' {
			continue
		}
		if inner, ok := fields[path[:i]].(map[string]any); ok {
			if text, ok := valueOf(inner, path[i+1:]); ok {
				return text, true
			}
		}
	}
	return "", false
}

func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// number is a field's whole number, or nil where there is none.
func number(fields map[string]any, path string) (*int, error) {
	text, ok := valueOf(fields, path)
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("the field %q: %q is no whole number", path, text)
	}
	return &n, nil
}

// byArticle splits the lines by article, in the order in which the log first has
// them, each by time; at the same time, in the order of the log.
func (l *Log) byArticle() [][]line {
	var split [][]line
	place := map[string]int{}
	for _, e := range l.lines {
		i, ok := place[e.article]
		if !ok {
			i = len(split)
			place[e.article] = i
			split = append(split, nil)
		}
		split[i] = append(split[i], e)
	}
	for _, lines := range split {
		slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	}
	return split
}
