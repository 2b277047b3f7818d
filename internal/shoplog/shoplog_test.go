package shoplog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/shoplog"
	"github.com/oversell/oversell/result"
)

const mapping = `
event: msg
time: t
timeformat: unix_ms
holder: who
units: n
left: left
order: order
events: {acquired: in, released: out, lost: lost, sold: sold, added: added, stock: stock}
`

func parsed(t *testing.T, text string) shoplog.Mapping {
	t.Helper()
	m, err := shoplog.ReadMapping(strings.NewReader(text), "map.yaml")
	require.NoError(t, err)
	return m
}

// told reads lines "MS EVENT WHO FIELDS..." and returns the stories.
func told(t *testing.T, m shoplog.Mapping, lines ...string) []shoplog.Story {
	t.Helper()
	var text strings.Builder
	for _, l := range lines {
		var at int
		var msg, who string
		words := strings.Fields(l)
		at, err := fmt.Sscan(words[0], &at)
		require.NoError(t, err)
		msg, who = words[1], words[2]
		fmt.Fprintf(&text, `{"t":%s,"msg":%q,"who":%q`, words[0], msg, who)
		for _, f := range words[3:] {
			k, v, _ := strings.Cut(f, "=")
			fmt.Fprintf(&text, `,%q:%s`, k, v)
		}
		text.WriteString("}\n")
		_ = at
	}
	log := shoplog.NewLog(m)
	require.NoError(t, log.Read(strings.NewReader(text.String()), "shop.jsonl"))
	return log.Stories()
}

func kinds(s shoplog.Story) []string {
	var words []string
	for _, e := range s.History.Events {
		words = append(words, fmt.Sprintf("%d %s %d.%d", e.At.Milliseconds(), e.Kind, e.Instance, e.Buyer))
	}
	return words
}

func TestALogBecomesAHistory(t *testing.T) {
	t.Parallel()
	s := told(t, parsed(t, mapping), "1000 stock - n=2", "1010 in a", "1020 sold a left=1", "1030 out a", "1040 in b", "1050 sold b left=0", "1060 lost b", "1070 stock - n=0")[0]
	assert.Equal(t, []string{
		"10 acquired 1.1", "20 committed 1.1", "30 release.start 1.1",
		"40 acquired 2.1", "50 committed 2.1", "60 lost 2.1",
		"70 order.found 1.1", "70 order.found 2.1", "70 stock.counted 0.0",
	}, kinds(s))
	assert.Equal(t, 2, s.History.Plan.Stock)
	assert.True(t, s.History.Plan.Observed)
	assert.Empty(t, s.Doubts)
	assert.True(t, s.Sales)
	assert.True(t, s.Locks)
	sale := s.History.Events[1]
	assert.Equal(t, []int{2, 1}, []int{sale.Before, sale.Units})
	assert.Equal(t, s.History.Events[0].Purchase, sale.Purchase, "a sale within an acquisition is its purchase")
	assert.Equal(t, sale.Purchase, s.History.Events[6].Purchase)
	last := s.History.Events[8]
	assert.Equal(t, []int{0, 2}, []int{last.Units, last.Count})
}

func TestAStaleSaleOverwritesWhatItDidntRead(t *testing.T) {
	t.Parallel()
	s := told(t, parsed(t, mapping), "0 stock - n=2", "1 sold a left=1", "2 sold b left=1", "3 sold c left=0")[0]
	var got []string
	for _, e := range s.History.Events {
		if e.Kind == history.Committed {
			got = append(got, fmt.Sprintf("%d over %d", e.Units, e.Before))
		}
	}
	assert.Equal(t, []string{"1 over 2", "1 over 1", "0 over 1"}, got)
}

func TestWhereTheStockIsKnownFrom(t *testing.T) {
	t.Parallel()
	given := parsed(t, mapping+"stock: 7\n")
	for name, tc := range map[string]struct {
		m     shoplog.Mapping
		lines []string
		stock int
		known bool
		doubt string
	}{
		"a count":                        {parsed(t, mapping), []string{"1 stock - n=5", "2 sold a", "9 stock - n=4"}, 5, true, ""},
		"a count beats the mapping":      {given, []string{"1 stock - n=5", "2 sold a", "9 stock - n=4"}, 5, true, ""},
		"the mapping":                    {given, []string{"2 sold a", "9 stock - n=4"}, 7, true, ""},
		"more was added":                 {given, []string{"2 sold a", "3 added - n=10", "9 stock - n=16"}, 17, true, ""},
		"added before it was counted":    {parsed(t, mapping), []string{"1 added - n=2", "2 stock - n=5", "3 sold a left=4"}, 5, true, ""},
		"the first sale":                 {parsed(t, mapping), []string{"2 sold a n=2 left=3"}, 5, true, "the log doesn't say how many units there were at the start; the first sale found 5"},
		"nothing says it":                {parsed(t, mapping), []string{"2 sold a"}, 0, false, "the log doesn't say how many units there were at the start: map a count of the stock, or say stock in the mapping"},
		"a count after a sale isn't one": {parsed(t, mapping), []string{"2 sold a", "9 stock - n=4"}, 0, false, "the log doesn't say how many units there were at the start: map a count of the stock, or say stock in the mapping"},
		"nothing says what was left":     {given, []string{"2 sold a"}, 7, true, "the log doesn't say what was left: judged is only whether more was sold than there was"},
	} {
		s := told(t, tc.m, append(tc.lines, "1 in z", "1 out z")...)[0]
		assert.Equal(t, tc.stock, s.History.Plan.Stock, name)
		assert.Equal(t, tc.known, s.Sales, name)
		var doubts []string
		for _, d := range s.Doubts {
			doubts = append(doubts, d.Text)
		}
		if tc.doubt == "" {
			assert.Empty(t, doubts, name)
		} else {
			assert.Equal(t, []string{tc.doubt}, doubts, name)
		}
	}
}

func TestAnAcquisitionWithoutAnEndIsOverAtItsLastEvent(t *testing.T) {
	t.Parallel()
	m := parsed(t, mapping+"stock: 9\n")
	s := told(t, m, "0 in a", "10 sold a left=8", "500 in b", "510 out b", "600 in c", "700 in c", "710 out c", "720 stock - n=8")[0]
	assert.Equal(t, []string{
		"0 acquired 1.1", "10 committed 1.1", "500 acquired 2.1", "510 release.start 2.1",
		"600 acquired 3.1", "600 release.start 3.1", "700 acquired 3.1", "710 release.start 3.1", "10 release.start 1.1",
		"720 order.found 1.1", "720 stock.counted 0.0",
	}, kinds(s))
	require.Len(t, s.Doubts, 1)
	assert.Equal(t, "2 acquisitions of 4 without an end in the log: taken to be over at the last event of its holder", s.Doubts[0].Text)
	assert.Equal(t, result.OK, s.Doubts[0].Verdict)
}

func TestClocksCanBeOff(t *testing.T) {
	t.Parallel()
	m := parsed(t, mapping+"clockerror: 4ms\nstock: 1\n")
	s := told(t, m, "0 in a", "100 out a")[0]
	assert.Equal(t, []string{"4 acquired 1.1", "96 release.start 1.1"}, kinds(s), "inside is what no clock can explain away")
}

func TestUnitsAndOrders(t *testing.T) {
	t.Parallel()
	m := parsed(t, mapping+"stock: 10\n")
	s := told(t, m, `0 in a`, `1 sold a n=2 left=8 order="x"`, `2 sold a left=7 order="y"`, `3 sold b left=6 order="x"`, `4 out a`)[0]
	found := map[string]int{}
	for _, e := range s.History.Events {
		if e.Kind == history.OrderFound {
			found[e.Purchase]++
		}
	}
	assert.Equal(t, map[string]int{
		"acquired in line 1": 2, "acquired in line 1, unit 2": 1, "sold in line 3": 1,
	}, found, "the order x was sold twice, each unit of a sale is an order")
	assert.Equal(t, 4, s.History.Events[len(s.History.Events)-1].Count)
}

func TestArticlesAreApart(t *testing.T) {
	t.Parallel()
	m := parsed(t, mapping+"article: sku\nstock: 1\n")
	stories := told(t, m, `5 in a sku="x"`, `6 in b sku="y"`, `7 out a sku="x"`, `8 out b sku="y"`)
	require.Len(t, stories, 2)
	assert.Equal(t, "x", stories[0].Article)
	assert.Equal(t, "y", stories[1].History.Plan.Lock)
	assert.Len(t, stories[1].History.Events, 2)
}

func TestRetoldInTheWordsOfTheLog(t *testing.T) {
	t.Parallel()
	s := told(t, parsed(t, mapping+"stock: 3\n"), "0 in pod-a", "5 in pod-b", "9 out pod-a", "10 out pod-b")[0]
	r := s.Retold(result.Run{
		Story:    []string{"instance 1, buyer 1 and instance 2 met, and instance 9 did not"},
		Findings: []result.Finding{{Text: "instance 2, buyer 1", Events: []int64{4, 2, 2, 99}}},
	})
	assert.Equal(t, []string{"times count from 1970-01-01T00:00:00Z", "pod-a and pod-b met, and instance 9 did not"}, r.Story)
	assert.Equal(t, "pod-b", r.Findings[0].Text)
	assert.Equal(t, []int64{2, 4}, r.Findings[0].Events)
}

func TestLinesAboutOtherThings(t *testing.T) {
	t.Parallel()
	log := shoplog.NewLog(parsed(t, mapping))
	require.NoError(t, log.Read(strings.NewReader("starting up\n\n{\"msg\":\"hello\"}\n[1]\nnull\n{\"t\":\"1\",\"msg\":\"in\",\"who\":\"a\"}\n{\"t\":2,\"msg\":\"ou"), "shop.jsonl"))
	assert.Equal(t, []int{7, 1, 4}, []int{int(log.Lines), log.Known, log.Strange})
}

func TestWhatAMappedLineMustHave(t *testing.T) {
	t.Parallel()
	m := mapping + "article: sku\n"
	for line, want := range map[string]string{
		`{"msg":"in","who":"a","sku":"x"}`:                     `shop.jsonl:2: in (acquired): it has no field "t", which time names`,
		`{"msg":"in","t":"soon","who":"a","sku":"x"}`:          `shop.jsonl:2: in (acquired): the field "t": "soon" is no number in the format unix_ms`,
		`{"msg":"in","t":1,"sku":"x"}`:                         `shop.jsonl:2: in (acquired): it lacks a field of who, which holder names`,
		`{"msg":"in","t":1,"who":"a"}`:                         `shop.jsonl:2: in (acquired): it has no field "sku", which article names`,
		`{"msg":"stock","t":1,"sku":"x"}`:                      `shop.jsonl:2: stock (stock): it has no field "n", which units names`,
		`{"msg":"sold","t":1,"sku":"x","n":1.5}`:               `shop.jsonl:2: sold (sold): the field "n": "1.5" is no whole number`,
		`{"msg":"sold","t":1,"sku":"x","n":-1}`:                `shop.jsonl:2: sold (sold): the field "n": -1 is no number of units`,
		`{"msg":"sold","t":1,"sku":"x","n":1000000}`:           `shop.jsonl:2: sold (sold): the field "n": 1000000 is no number of units`,
		`{"msg":"sold","t":1,"sku":"x","n":1,"left":"plenty"}`: `shop.jsonl:2: sold (sold): the field "left": "plenty" is no whole number`,
	} {
		log := shoplog.NewLog(parsed(t, m))
		assert.EqualError(t, log.Read(strings.NewReader("{}\n"+line+"\n"), "shop.jsonl"), want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 3, 1, 10, 0, 0, 123_456_789, time.UTC)
	for format, text := range map[string]string{
		"rfc3339":                        `"2026-03-01T11:00:00.123456789+01:00"`,
		"unix":                           `1772359200.123456789`,
		"unix_ms":                        `"1772359200123.456789"`,
		"unix_us":                        `1772359200123456.789`,
		"unix_ns":                        `1772359200123456789`,
		"2006-01-02 15:04:05.999999999Z": `"2026-03-01 10:00:00.123456789Z"`,
	} {
		log := shoplog.NewLog(parsed(t, strings.Replace(mapping, "unix_ms", `"`+format+`"`, 1)))
		require.NoError(t, log.Read(strings.NewReader(`{"msg":"in","who":"a","t":`+text+`}`), "shop.jsonl"), format)
		assert.True(t, want.Equal(log.Stories()[0].History.Plan.Started), "%s: %s", format, log.Stories()[0].History.Plan.Started)
	}
}

func TestMappingErrors(t *testing.T) {
	t.Parallel()
	const good = "event: msg\ntime: t\nholder: who\nevents: {acquired: in, released: out}\n"
	parsed(t, good)
	for text, want := range map[string]string{
		"":                              "map.yaml: event must name the field that tells what happened",
		"evnt: msg":                     `map.yaml:1:1: unknown field "evnt"`,
		good + "clockerror: soon":       "map.yaml: \"soon\" is no duration such as 5ms",
		"event: msg\nevents: {sold: x}": "map.yaml: time must name the field that tells when it happened",
		good + "timeformat: iso":        "map.yaml: timeformat must be rfc3339, unix, unix_ms, unix_us, unix_ns or a layout of Go's package time, not \"iso\"",
		good + "clockerror: -1ms":       "map.yaml: clockerror can't be negative",
		good + "stock: -1":              "map.yaml: stock can't be negative",
		"event: m\ntime: t\n":           "map.yaml: events must name acquired, sold or both: without them there is nothing to judge",
		"event: m\ntime: t\nholder: w\nevents: {acquired: in}":                        "map.yaml: events names acquired and no released: nobody would ever be outside again",
		"event: m\ntime: t\nevents: {acquired: in, released: out}":                    "map.yaml: holder must name the fields that tell who holds the lock",
		"event: m\ntime: t\nevents: {sold: s, stock: c}":                              "map.yaml: units must name the field that counts the units of stock and added",
		"event: m\ntime: t\nholder: w\nevents: {acquired: in, released: [out, in]}":   `map.yaml: events: "in" is both acquired and released`,
		"event: m\ntime: t\nholder: w\nevents: {acquired: in, released: [out, \"\"]}": "map.yaml: events.released has an empty word",
	} {
		_, err := shoplog.ReadMapping(strings.NewReader(text), "map.yaml")
		require.Error(t, err, text)
		assert.True(t, strings.HasPrefix(err.Error(), want), "%q is not %q", err, want)
	}
}
