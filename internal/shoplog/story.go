package shoplog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// Story is what a log tells about one article, as a history.
type Story struct {
	Article string // "" when the log has one only
	History history.History
	Sales   bool             // the stock can be judged
	Locks   bool             // the lock can be judged
	Doubts  []result.Finding // what the log doesn't say

	lines     []int64 // by the number of an event, from 1
	instances []string
	holders   map[[2]int]string
}

// Stories returns the log's articles, each as a history that checks judge like
// that of a run. Purchases are acquisitions: from acquired to the next released
// or lost of the same holder. One that doesn't end in the log counts as over at
// its last event, since nobody knows how long its holder was inside.
func (l *Log) Stories() []Story {
	var stories []Story
	for _, lines := range l.byArticle() {
		stories = append(stories, l.mapping.story(lines))
	}
	return stories
}

// teller turns the lines of one article into events.
type teller struct {
	m     Mapping
	story *Story
	start time.Time

	instance map[string]int
	buyer    map[string]int // by holder
	buyers   map[int]int    // by instance
	open     map[string]*acquisition
	orders   map[string]string // purchases by order

	stock   stockTeller
	unended int
	sales   int
	locks   int
}

// acquisition is one holder's time with the lock.
type acquisition struct {
	id    history.Event // its purchase, instance and buyer
	last  line
	sales int
}

func (m Mapping) story(lines []line) Story {
	s := Story{Article: lines[0].article, holders: map[[2]int]string{}}
	t := &teller{
		m: m, story: &s, start: lines[0].at,
		instance: map[string]int{}, buyer: map[string]int{}, buyers: map[int]int{},
		open: map[string]*acquisition{}, orders: map[string]string{},
	}
	t.stock.begin(m, lines)
	for _, e := range lines {
		t.tell(e)
	}
	for _, holder := range slices.Sorted(maps.Keys(t.open)) {
		t.end(t.open[holder], t.open[holder].last)
		t.unended++
	}
	t.stock.end(t, lines[len(lines)-1])
	t.plan(lines)
	t.doubts()
	s.Sales, s.Locks = t.sales > 0 && t.stock.known, t.locks > 0
	return s
}

func (t *teller) plan(lines []line) {
	h := &t.story.History
	h.Plan = history.Plan{
		Schema: history.PlanSchema, Observed: true, Scenario: t.m.Name, Lock: t.story.Article,
		Expected: string(result.ExpectOK), Started: t.start, Fenced: t.m.Fenced,
		Stock: t.stock.initial, Instances: len(t.instance), SKU: t.story.Article, Key: t.story.Article,
	}
	if h.Plan.Lock == "" {
		h.Plan.Lock = t.m.Name
	}
}

// event adds an event of a line; its time counts from the first line.
func (t *teller) event(e line, shift time.Duration, h history.Event) {
	h.N = int64(len(t.story.lines)) + 1
	h.At = e.at.Sub(t.start) + shift
	t.story.lines = append(t.story.lines, e.n)
	t.story.History.Events = append(t.story.History.Events, h)
}

func (t *teller) tell(e line) {
	switch e.kind {
	case acquired:
		t.acquired(e)
	case released, lost:
		if a := t.open[e.holder]; a != nil {
			delete(t.open, e.holder)
			kind := history.ReleaseStart
			if e.kind == lost {
				kind = history.LostNoticed
			}
			t.endWith(a, e, kind)
		}
	case sold:
		t.sold(e)
	case added:
		t.stock.added(*e.units)
	case counted:
		t.stock.counted(t, e)
	}
}

func (t *teller) acquired(e line) {
	t.locks++
	if a := t.open[e.holder]; a != nil {
		t.end(a, a.last)
		t.unended++
	}
	id := t.who(e)
	id.Purchase = "acquired in line " + strconv.FormatInt(e.n, 10)
	t.open[e.holder] = &acquisition{id: id, last: e}
	id.Kind = history.Acquired
	t.event(e, time.Duration(t.m.ClockError), id)
}

func (t *teller) end(a *acquisition, e line) { t.endWith(a, e, history.ReleaseStart) }

func (t *teller) endWith(a *acquisition, e line, kind history.Kind) {
	h := a.id
	h.Kind = kind
	t.event(e, -time.Duration(t.m.ClockError), h)
}

// who numbers the instance and the holder of a line.
func (t *teller) who(e line) history.Event {
	i, ok := t.instance[e.instance]
	if !ok {
		i = len(t.instance) + 1
		t.instance[e.instance] = i
		t.story.instances = append(t.story.instances, e.instance)
	}
	b, ok := t.buyer[e.holder]
	if !ok {
		t.buyers[i]++
		b = t.buyers[i]
		t.buyer[e.holder] = b
	}
	t.story.holders[[2]int{i, b}] = e.holder
	return history.Event{Instance: i, Buyer: b}
}

// sold turns each unit of a sale into a commit. A sale within an acquisition is
// its purchase; a further one, or one outside, is a purchase of its own; and an
// order that was sold before is that same purchase again.
func (t *teller) sold(e line) {
	t.sales++
	units := 1
	if e.units != nil {
		units = *e.units
	}
	id := t.who(e)
	id.Purchase = "sold in line " + strconv.FormatInt(e.n, 10)
	if a := t.open[e.holder]; a != nil && e.holder != "" {
		a.last = e
		if a.sales++; a.sales == 1 {
			id = a.id
		}
	}
	if e.order != "" {
		if seen := t.orders[e.order]; seen != "" {
			id.Purchase = seen
		}
		t.orders[e.order] = id.Purchase
	}
	for i := range units {
		unit := id
		if i > 0 {
			unit.Purchase += ", unit " + strconv.Itoa(i+1)
		}
		t.stock.sold(t, e, unit, units-1-i)
	}
}

// sum is the line of a story that sums up the stock.
var sum = regexp.MustCompile(`^\d+ sold and \d+ left of \d+`)

var numbered = regexp.MustCompile(`\binstance (\d+)(?:, buyer (\d+))?`)

// Retold puts the log's own names and line numbers where the checks have
// numbers of their own.
func (s Story) Retold(r result.Run) result.Run {
	named := func(text string) string {
		return numbered.ReplaceAllStringFunc(text, func(match string) string {
			m := numbered.FindStringSubmatch(match)
			i, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			if i < 1 || i > len(s.instances) {
				return match
			}
			name := s.instances[i-1]
			if holder := s.holders[[2]int{i, b}]; holder != "" {
				name = holder
			}
			if name == "" {
				return "somebody unnamed"
			}
			return name
		})
	}
	story := []string{"times count from " + s.History.Plan.Started.UTC().Format(time.RFC3339Nano)}
	for _, line := range r.Story {
		if s.Sales || !sum.MatchString(line) {
			story = append(story, named(line))
		}
	}
	if len(story) > 1 {
		r.Story = story
	} else {
		r.Story = nil
	}
	findings := make([]result.Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Text = named(f.Text)
		events := make([]int64, 0, len(f.Events))
		for _, n := range f.Events {
			if n >= 1 && n <= int64(len(s.lines)) {
				events = append(events, s.lines[n-1])
			}
		}
		slices.Sort(events)
		f.Events = slices.Compact(events)
		findings[i] = f
	}
	r.Findings = findings
	return r
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
