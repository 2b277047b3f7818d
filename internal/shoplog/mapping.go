// Package shoplog reads a shop's own log, JSON lines in whatever words the shop
// uses, as histories that checks can judge. A mapping says what the log calls
// things.
package shoplog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Mapping says what a log calls things. Fields are named as they stand in a
// line; "lock.key" is the field key within the object lock.
type Mapping struct {
	Name  string `yaml:"name"`  // how reports call the log
	Event string `yaml:"event"` // the field that tells what happened
	Time  string `yaml:"time"`  // the field that tells when
	// TimeFormat is one of TimeFormats or a layout of Go's package time.
	TimeFormat string `yaml:"timeformat"`
	// ClockError is how far a machine's clock may be off. Two holders count as
	// inside at once only where no such error explains it.
	ClockError Span `yaml:"clockerror"`

	Holder   Words  `yaml:"holder"`   // the fields that together name whoever holds the lock
	Instance string `yaml:"instance"` // the field that names the process; the first of Holder when empty
	Article  string `yaml:"article"`  // the field that names the article or the lock's key; each is judged by itself
	Order    string `yaml:"order"`    // the field that names an order; it may be sold once only
	Units    string `yaml:"units"`    // the field that counts units; without it a sale is of one
	Left     string `yaml:"left"`     // the field of a sale that has the stock as the sale wrote it

	Stock  *int `yaml:"stock"`  // units at the start, where the log doesn't tell
	Fenced bool `yaml:"fenced"` // the inventory refuses whoever was overtaken: two holders are harmless

	Events Events `yaml:"events"`
}

// Events are the words that the field Event has for what happened.
type Events struct {
	Acquired Words `yaml:"acquired"` // the lock was acquired
	Released Words `yaml:"released"` // it was released, or is about to be
	Lost     Words `yaml:"lost"`     // the holder noticed that it had lost it
	Sold     Words `yaml:"sold"`     // units were sold
	Added    Words `yaml:"added"`    // units were put on the shelf
	Stock    Words `yaml:"stock"`    // the stock was counted: before the first sale or after the last
}

// Words is a list in which a single word can stand by itself.
type Words []string

// UnmarshalYAML reads a word or a list of words.
func (w *Words) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*w = Words{one}
		return nil
	}
	var many []string
	if err := unmarshal(&many); err != nil {
		return err
	}
	*w = many
	return nil
}

// Span is a duration, written like 5ms.
type Span time.Duration

// UnmarshalYAML reads a duration.
func (s *Span) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration such as 5ms", text)
	}
	*s = Span(d)
	return nil
}

// The kinds of events that a mapping can name.
const (
	acquired = "acquired"
	released = "released"
	lost     = "lost"
	sold     = "sold"
	added    = "added"
	counted  = "stock"
)

// words are the log's words by kind.
func (e Events) words() map[string]Words {
	return map[string]Words{
		acquired: e.Acquired, released: e.Released, lost: e.Lost, sold: e.Sold, added: e.Added, counted: e.Stock,
	}
}

// maxMapping bounds a mapping's file, in bytes.
const maxMapping = 1 << 20

// ReadMapping reads a mapping as YAML. Unknown fields and impossible values are
// errors that begin with name, and with the place where it is known.
func ReadMapping(r io.Reader, name string) (Mapping, error) {
	m := Mapping{Name: "log", TimeFormat: rfc3339}
	text, err := io.ReadAll(io.LimitReader(r, maxMapping+1))
	if err == nil && len(text) > maxMapping {
		err = fmt.Errorf("a mapping has at most %d bytes", maxMapping)
	}
	if err != nil {
		return m, fmt.Errorf("read %s: %w", name, err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return m, fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, at.GetMessage())
		}
		return m, fmt.Errorf("%s: %w", name, err)
	}
	if err := m.validate(); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (m Mapping) validate() error {
	switch {
	case m.Event == "":
		return errors.New("event must name the field that tells what happened")
	case m.Time == "":
		return errors.New("time must name the field that tells when it happened")
	case !knownFormat(m.TimeFormat):
		return fmt.Errorf("timeformat must be %s or a layout of Go's package time, not %q", strings.Join(TimeFormats(), ", "), m.TimeFormat)
	case m.ClockError < 0:
		return errors.New("clockerror can't be negative")
	case m.Stock != nil && *m.Stock < 0:
		return errors.New("stock can't be negative")
	case len(m.Events.Acquired) == 0 && len(m.Events.Sold) == 0:
		return errors.New("events must name acquired, sold or both: without them there is nothing to judge")
	case len(m.Events.Acquired) > 0 && len(m.Events.Released) == 0:
		return errors.New("events names acquired and no released: nobody would ever be outside again")
	case len(m.Events.Acquired) > 0 && len(m.Holder) == 0:
		return errors.New("holder must name the fields that tell who holds the lock")
	case (len(m.Events.Stock) > 0 || len(m.Events.Added) > 0) && m.Units == "":
		return errors.New("units must name the field that counts the units of stock and added")
	}
	return m.unambiguous()
}

// unambiguous refuses a word that stands for two things.
func (m Mapping) unambiguous() error {
	means := map[string]string{}
	for _, kind := range []string{acquired, released, lost, sold, added, counted} {
		for _, w := range m.Events.words()[kind] {
			if w == "" {
				return fmt.Errorf("events.%s has an empty word", kind)
			}
			if other := means[w]; other != "" {
				return fmt.Errorf("events: %q is both %s and %s", w, other, kind)
			}
			means[w] = kind
		}
	}
	if slices.Contains(m.Holder, "") {
		return errors.New("holder has an empty word")
	}
	return nil
}
