package faults

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMinorityIsDispensable(t *testing.T) {
	for _, c := range []struct {
		values []string
		n      int
		chosen []int
		left   int
	}{
		{[]string{"a", "a", "a", "a", "a"}, 1, []int{0}, 4},
		{[]string{"b", "a", "a", "a", "a"}, 1, []int{1}, 3},
		{[]string{"a", "a", "a", "b", "c"}, 1, []int{3}, 3},
		{[]string{"a", "", "a", "", "a"}, 2, []int{1, 3}, 3},
		{[]string{"a", "a", "b", "a", "a"}, 2, []int{0, 2}, 3},
	} {
		chosen, left := dispensable(c.values, c.n)
		require.Equal(t, c.chosen, chosen, c.values)
		require.Equal(t, c.left, left, c.values)
	}
	for _, values := range [][]string{{"a", "a", "b", "b", "c"}, {"", "", "", "", ""}, {"", "", "", "a", "a"}} {
		chosen, _ := dispensable(values, 1)
		require.Empty(t, chosen, values)
	}
}
