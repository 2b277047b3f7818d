package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oversell/oversell/internal/explore"
)

// What a lock did otherwise once in a while is told below the verdict.
func TestNoteOfStrays(t *testing.T) {
	a := &app{}
	r := &explore.Report{Complete: true, Runs: 9000}
	assert.NotContains(t, a.effort(exploration{report: r}), "note:")
	r.Strays = 2
	assert.Contains(t, a.effort(exploration{report: r}), "note: in 2 of the schedules played the lock went another way than before, "+
		"and as before when they were played again. Its own goroutines may race")
	r.Strayed = &explore.NondeterminismError{Where: "at its end", Now: "A:; B:", Before: "A:; B: [GET]"}
	assert.Contains(t, a.effort(exploration{report: r}), "played again, such as at its end, where there was A:; B: instead of A:; B: [GET]. Its own")
	r.Strayed.Before = ""
	assert.Contains(t, a.effort(exploration{report: r}), "such as at its end, where there was A:; B:. Its own")
	r.Strays, r.Strayed = 0, nil
	r.LeavesOn = true
	assert.Contains(t, a.effort(exploration{report: r}), "note: the lock leaves goroutines behind")
}
