package safe

import (
	"fmt"

	"github.com/oversell/oversell/locks"
)

// vote is one master's answer.
type vote struct {
	node int
	yes  bool
	err  error
}

// certainlyNot reports whether the master's own answer is that its key isn't ours.
func (v vote) certainlyNot() bool { return !v.yes && (v.err == nil || locks.Refused(v.err)) }

// tally is what the masters have answered so far.
type tally struct {
	of, need int
	yes, no  int
	lost     int   // no answer, or none that says anything
	why      error // of the first that was lost
	refused  int   // of no: those who answered with an error
	refusal  error
}

func (t *tally) add(v vote) {
	switch {
	case v.yes:
		t.yes++
	case v.certainlyNot():
		t.no++
		if v.err != nil {
			t.refused++
			t.refusal = v.err
		}
	default:
		t.lost++
		if t.why == nil {
			t.why = fmt.Errorf("master %d: %w", v.node+1, v.err)
		}
	}
}

// won and beaten say that no further answer can change the outcome.
func (t *tally) won() bool    { return t.yes >= t.need }
func (t *tally) beaten() bool { return t.no > t.of-t.need }
func (t *tally) over() bool   { return t.won() || t.beaten() || t.yes+t.no+t.lost == t.of }

// unrefused makes of a refusal an error like any other: a server that doesn't
// want to renew or remove the key says nothing about whose it is.
func unrefused(ok bool, err error) (bool, error) {
	if err != nil && locks.Refused(err) {
		return false, fmt.Errorf("refused: %v", err)
	}
	return ok, err
}
