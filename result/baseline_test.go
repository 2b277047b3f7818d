package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/result"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	run := func(v result.Verdict, g result.Gate) result.Run { return result.Run{Verdict: v, Gate: g} }
	met, broken := run(result.OK, result.Pass), run(result.Oversold, result.Fail)
	unclear := run(result.Inconclusive, result.GateUnresolved)
	for name, tc := range map[string]struct {
		now  result.Run
		then *result.Run
		want result.State
	}{
		"met, and nothing to compare with":       {met, nil, result.Unchanged},
		"broken, and nothing to compare with":    {broken, nil, result.New},
		"unclear, and nothing to compare with":   {unclear, nil, result.New},
		"met as before":                          {met, &met, result.Unchanged},
		"oversold as expected, as before":        {run(result.Oversold, result.Pass), ptr(run(result.Oversold, result.Pass)), result.Unchanged},
		"another verdict, both as expected":      {run(result.Stalled, result.Pass), ptr(run(result.Oversold, result.Pass)), result.Unchanged},
		"broken now":                             {broken, &met, result.New},
		"broken as before":                       {broken, &broken, result.Still},
		"broken in a worse way":                  {broken, ptr(run(result.Stalled, result.Fail)), result.New},
		"broken in a better way is another way":  {run(result.Stalled, result.Fail), &broken, result.New},
		"survived again":                         {run(result.OK, result.Fail), ptr(run(result.OK, result.Fail)), result.Still},
		"unclear before, broken now":             {broken, &unclear, result.New},
		"broken before, unclear now":             {unclear, &broken, result.Still},
		"unclear as before":                      {unclear, &unclear, result.Still},
		"unclear now":                            {unclear, &met, result.New},
		"simulated before, with the same result": {run(result.OK, result.GateUnresolved), ptr(run(result.OK, result.GateUnresolved)), result.Still},
		"fixed":                                  {met, &broken, result.Fixed},
		"clear at last":                          {met, &unclear, result.Fixed},
	} {
		b := result.Compare(tc.now, tc.then)
		assert.Equal(t, tc.want, b.State, name)
		if tc.then != nil {
			assert.Equal(t, tc.then.Verdict, b.Verdict, name)
			assert.Equal(t, tc.then.Gate, b.Gate, name)
		}
	}
}

func TestOnlyAFailedGateCanBeAccepted(t *testing.T) {
	t.Parallel()
	accepted := &result.Baseline{State: result.Still, Accepted: true}
	for gate, want := range map[result.Gate]result.Gate{
		result.Pass: result.Pass, result.Fail: result.Pass, result.GateUnresolved: result.GateUnresolved, "no such gate": "no such gate",
	} {
		assert.Equal(t, want, result.Run{Gate: gate, Baseline: accepted}.Counted())
		assert.Equal(t, gate, result.Run{Gate: gate, Baseline: &result.Baseline{State: result.Still}}.Counted())
		assert.Equal(t, gate, result.Run{Gate: gate}.Counted())
	}
	broken := result.Run{Gate: result.Fail}
	known := result.Run{Gate: result.Fail, Baseline: accepted}
	assert.Equal(t, result.Pass, result.NewDocument([]result.Run{known}).Gate)
	assert.Equal(t, result.Fail, result.NewDocument([]result.Run{known, broken}).Gate)
}

func ptr[T any](v T) *T { return &v }
