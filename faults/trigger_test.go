package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/faults"
)

func TestTriggerDue(t *testing.T) {
	for _, c := range []struct {
		when faults.Trigger
		want []int // of the first ten times
		text string
	}{
		{faults.Trigger{Point: faults.Called}, []int{1}, "called, the 1st time"},
		{faults.Trigger{Point: faults.Acquired, Nth: 3}, []int{3}, "acquired, the 3rd time"},
		{faults.Trigger{Point: faults.Called, Every: 4}, []int{4, 8}, "called, every 4th time"},
		{faults.Trigger{Point: faults.Called, Every: 1}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "called, every time"},
		{faults.Trigger{Point: faults.Called, Nth: 2, Every: 3}, []int{2, 5, 8}, "called, every 3rd time from the 2nd on"},
		{faults.Trigger{Point: faults.Releasing, After: 1}, []int{1}, "releasing, the 1st time after step 1"},
	} {
		var due []int
		for n := 1; n <= 10; n++ {
			if c.when.Due(n) {
				due = append(due, n)
			}
		}
		require.Equal(t, c.want, due, c.text)
		require.Equal(t, c.text, c.when.String())
	}
	require.Equal(t, "2s after the load began", faults.Trigger{At: 2 * time.Second}.String())
}

func TestListIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults.All() {
		require.NotEmpty(t, f.Name())
		require.NotEmpty(t, f.Summary(), f.Name())
		require.False(t, seen[f.Name()], "two faults are called %s", f.Name())
		seen[f.Name()] = true
	}
}
