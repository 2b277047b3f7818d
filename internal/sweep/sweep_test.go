package sweep_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/internal/sweep"
	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/scenarios"
)

func parse(t *testing.T, text string) sweep.Sweep {
	t.Helper()
	s, err := sweep.Parse(text)
	require.NoError(t, err)
	return s
}

func words(s sweep.Sweep) []string {
	var list []string
	for _, v := range s.Values {
		list = append(list, s.Parameter.Word(v))
	}
	return list
}

func TestParse(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"50ms", "76.7ms", "118ms", "181ms", "277ms", "425ms", "652ms", "1s"}, words(parse(t, "ttl=50ms..1s")))
	assert.Equal(t, []string{"100ms", "316ms", "1s"}, words(parse(t, "call=100ms..1s/3")))
	assert.Equal(t, []string{"100ms", "300ms", "1s"}, words(parse(t, "pause=1s, 100ms,300ms,100ms")), "sorted, each once")
	assert.Equal(t, []string{"10", "32", "100"}, words(parse(t, "clients=10..100/3")))
	assert.Equal(t, []string{"1", "2", "3"}, words(parse(t, "clients=1..3/100")), "no buyer is cut in two")

	for text, want := range map[string]string{
		"ttl":             `"ttl" is not NAME=VALUES`,
		"tttl=1s":         `"tttl" can't be swept: choose from ttl, call, pause, clients`,
		"ttl=1s..50ms":    "1s..50ms goes nowhere: the larger value comes last",
		"ttl=1s..1s":      "1s..1s goes nowhere: the larger value comes last",
		"ttl=5":           `ttl: "5" is no duration such as 50ms or 1s`,
		"ttl=-1s":         `ttl: "-1s" is no duration such as 50ms or 1s`,
		"ttl=":            `ttl: "" is no duration such as 50ms or 1s`,
		"ttl=0s..1s":      `ttl: "0s" is no duration such as 50ms or 1s`,
		"ttl=50ms..1s/1":  `"1" is no number of values from 2 to 1000`,
		"ttl=50ms..1s/x":  `"x" is no number of values from 2 to 1000`,
		"clients=0..3":    `clients: "0" is no number from 1 on`,
		"clients=ten":     `clients: "ten" is no number from 1 on`,
		"clients=1,2,3.5": `clients: "3.5" is no number from 1 on`,
	} {
		_, err := sweep.Parse(text)
		assert.EqualError(t, err, want, text)
	}
}

func TestRangesGoUpFromEndToEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(1, int64(time.Second)).Draw(t, "from")
		to := rapid.Int64Range(from+1, int64(time.Minute)).Draw(t, "to")
		n := rapid.IntRange(2, 50).Draw(t, "points")
		s, err := sweep.Parse("ttl=" + time.Duration(from).String() + ".." + time.Duration(to).String() + "/" + strconv.Itoa(n))
		require.NoError(t, err)
		require.LessOrEqual(t, len(s.Values), n)
		require.Equal(t, sweep.Value(from), s.Values[0])
		require.Equal(t, sweep.Value(to), s.Values[len(s.Values)-1])
		for i := 1; i < len(s.Values); i++ {
			require.Less(t, s.Values[i-1], s.Values[i])
		}
	})
}

func scenario() scenarios.Scenario {
	return scenarios.Scenario{
		Name: "s", Load: scenarios.Load{TTL: 300 * time.Millisecond, Call: 4 * time.Millisecond, Buyers: 200, Instances: 6},
		Steps: []faults.Step{{Do: faults.SlowCall{TTLs: 1.5}}, {Do: faults.HoldOvertaker{TTLs: 0.9}}, {Do: faults.PauseInstance{TTLs: 2, Sales: 3}}},
	}
}

func put(t *testing.T, text string) scenarios.Scenario {
	t.Helper()
	own := scenario()
	s := parse(t, text)
	swept, err := s.Parameter.Put(own, s.Values[0])
	require.NoError(t, err)
	require.Equal(t, scenario(), own, "the scenario itself stays as it is")
	return swept
}

func TestSweepingTheTTLLeavesTheWorldAsItIs(t *testing.T) {
	t.Parallel()
	s := put(t, "ttl=900ms")
	assert.Equal(t, 900*time.Millisecond, s.Load.TTL)
	assert.Equal(t, 1200*time.Millisecond, s.Load.StallAfter, "who waits for a longer TTL isn't stalled")
	assert.Zero(t, put(t, "ttl=100ms").Load.StallAfter, "a shorter one takes nothing away")
	assert.InDelta(t, 0.5, s.Steps[0].Do.(faults.SlowCall).TTLs, 1e-9, "the call takes 450 ms as before")
	assert.InDelta(t, 2.0/3, s.Steps[2].Do.(faults.PauseInstance).TTLs, 1e-9)
	assert.Equal(t, faults.HoldOvertaker{TTLs: 0.9}, s.Steps[1].Do, "who waits for another waits in TTLs")
}

func TestPut(t *testing.T) {
	t.Parallel()
	s := put(t, "call=600ms")
	assert.Equal(t, faults.SlowCall{TTLs: 2}, s.Steps[0].Do)
	assert.Equal(t, 4*time.Millisecond, s.Load.Call)
	s = put(t, "pause=150ms")
	assert.Equal(t, faults.PauseInstance{TTLs: 0.5}, s.Steps[2].Do, "exactly so long")
	s = put(t, "clients=4")
	assert.Equal(t, []int{4, 4}, []int{s.Load.Buyers, s.Load.Instances}, "no instance without a buyer")
	s = put(t, "clients=500")
	assert.Equal(t, []int{500, 6}, []int{s.Load.Buyers, s.Load.Instances})

	bare := scenario()
	bare.Steps = nil
	call := parse(t, "call=5ms")
	swept, err := call.Parameter.Put(bare, call.Values[0])
	require.NoError(t, err)
	assert.Equal(t, 5*time.Millisecond, swept.Load.Call, "without slow calls the ordinary ones")
	pause := parse(t, "pause=5ms")
	_, err = pause.Parameter.Put(bare, pause.Values[0])
	assert.EqualError(t, err, "scenario s: nothing in it stands still: paused-holder and frozen-server have such pauses")
}

func run(v result.Verdict, units int) result.Run {
	return result.Run{Verdict: v, Oversold: units, Calls: result.Calls{P99MS: 450}}
}

func TestPointsCountWhatSaysSomething(t *testing.T) {
	t.Parallel()
	s := parse(t, "ttl=100ms")
	p := s.NewPoint(s.Values[0], []result.Run{
		run(result.Oversold, 30), run(result.OK, 0), run(result.Inconclusive, 7), run(result.Stalled, 0),
	})
	assert.Equal(t, []int{4, 1, 1, 2, 3}, []int{p.Trials, p.Inconclusive, p.Oversold, p.Violations, p.Conclusive()})
	assert.InDelta(t, 1.0/3, p.Rate.Share, 1e-9)
	assert.InDelta(t, 10, p.UnitsMean, 1e-9)
	assert.Equal(t, 30, p.UnitsMax)
	assert.InDelta(t, 450, p.CallP99MS, 1e-9)
	assert.Equal(t, "100ms", p.Word)
	assert.InDelta(t, 100, p.Value, 1e-9)
}

// curve makes points of one trial each: '#' oversold, '.' held, '?' inconclusive.
func curve(s sweep.Sweep, marks string) []sweep.Point {
	var points []sweep.Point
	for i, m := range marks {
		r := map[rune]result.Run{'#': run(result.Oversold, 10), '.': run(result.OK, 0), '?': run(result.Inconclusive, 0)}[m]
		points = append(points, s.NewPoint(s.Values[i], []result.Run{r}))
	}
	return points
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	ttl, call := parse(t, "ttl=100ms,200ms,300ms,400ms"), parse(t, "call=100ms,200ms,300ms,400ms")
	for _, tc := range []struct {
		sweep sweep.Sweep
		marks string
		found bool
		text  string
	}{
		{ttl, "##..", true, "oversells with a ttl up to 200ms, and not from 300ms on"},
		{call, "..##", true, "oversells with a call from 300ms on, and not up to 200ms"},
		{ttl, "#??.", true, "oversells with a ttl up to 100ms, and not from 400ms on"},
		{ttl, "....", false, "no value of ttl oversells: 0 of 4: at most 60 % at 95 %"},
		{ttl, "####", false, "every value of ttl oversells, 400ms too: 4 of 4: at least 40 % at 95 %"},
		{ttl, "#.#.", false, "no clear threshold: ttl oversells at 100ms, 300ms and doesn't at 200ms, 400ms"},
		{ttl, "..##", false, "no clear threshold: ttl oversells at 300ms, 400ms and doesn't at 100ms, 200ms"},
		{call, "????", false, "nothing can be concluded at any value"},
	} {
		got := tc.sweep.FindThreshold(curve(tc.sweep, tc.marks))
		assert.Equal(t, tc.text, got.Text, tc.marks)
		assert.Equal(t, tc.found, got.Found, tc.marks)
	}
	got := ttl.FindThreshold(curve(ttl, "##.."))
	assert.Equal(t, []float64{200, 300}, []float64{got.Sells, got.Holds})
}

func TestJudgeHoldsLocksToTheirClaims(t *testing.T) {
	t.Parallel()
	s := parse(t, "ttl=100ms,200ms,300ms")
	of := func(claims bool, marks string) sweep.Curve {
		return sweep.Curve{Claims: claims, Points: curve(s, marks)}
	}
	assert.Equal(t, result.Pass, sweep.Judge([]sweep.Curve{of(false, "##."), of(true, "...")}))
	assert.Equal(t, result.Pass, sweep.Judge([]sweep.Curve{of(false, "...")}), "who claims nothing may hold")
	assert.Equal(t, result.Fail, sweep.Judge([]sweep.Curve{of(false, "?.."), of(true, "..#")}))
	assert.Equal(t, result.GateUnresolved, sweep.Judge([]sweep.Curve{of(false, "#?.")}), "a value that says nothing")
	assert.Equal(t, result.GateUnresolved, sweep.Judge([]sweep.Curve{of(true, "..?")}))
	assert.Equal(t, result.GateUnresolved, sweep.Judge(nil))
}

func report() sweep.Report {
	s, err := sweep.Parse("ttl=100ms,200ms,300ms")
	if err != nil {
		panic(err)
	}
	points := curve(s, "##.")
	points[0].UnitsMean = 57
	return sweep.Report{
		Schema: sweep.Schema, Parameter: "ttl", Unit: "ms", Trials: 1, Gate: result.Pass, Backend: "docker", Seed: 7,
		Dir: "runs/x-sweep-ttl", Command: "oversell run --sweep ttl=100ms,200ms,300ms --seed 7",
		Curves: []sweep.Curve{{
			Scenario: "ttl-expiry", Lock: "setnx-expire-del", Alias: "naive", Server: "Redis 7.0.15",
			Points: points, Threshold: s.FindThreshold(points), Advice: "a TTL should be longer.",
		}},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, report().Text(&b))
	assert.Equal(t, `ttl-expiry, setnx-expire-del (naive) on Redis 7.0.15
    ttl  oversold  too many  P99 of calls
  100ms    1 of 1      57.0        450 ms  ##############################
  200ms    1 of 1      10.0        450 ms  #####
  300ms    0 of 1       0.0        450 ms
  Threshold: oversells with a ttl up to 200ms, and not from 300ms on.
  Advice: a TTL should be longer.

Gate: PASS — no lock broke that claims to withstand the hazard; the others have no threshold to keep to.
Files: runs/x-sweep-ttl

To repeat:
oversell run --sweep ttl=100ms,200ms,300ms --seed 7
`, b.String())
	simulated := report()
	simulated.Simulated, simulated.Gate = true, result.GateUnresolved
	b.Reset()
	require.NoError(t, simulated.Text(&b))
	assert.Contains(t, b.String(), "SIMULATED: ")
	assert.Contains(t, b.String(), "Gate: INCONCLUSIVE — its servers were SIMULATED")
}

func TestFiles(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, report().CSV(&b))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4)
	assert.Equal(t, []string{"ttl-expiry", "setnx-expire-del", "Redis 7.0.15", "ttl", "100", "1", "0", "1", "1", "0.025", "1", "57", "10", "450"}, rows[1])
	assert.Equal(t, "value_ms", rows[0][4])

	require.NoError(t, report().JSON(&b))
	var back sweep.Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, report(), back)
}
