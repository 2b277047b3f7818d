package checks

import (
	"fmt"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// keyIn is the last look at the key within a gap, a look at a key that is there
// before one that isn't; nil when nobody looked.
func (t *Timeline) keyIn(g gap) *history.Event {
	var found *history.Event
	for _, e := range t.Events {
		looked := e.Kind == history.KeyState && e.At >= g.From && e.At <= g.Until && e.Err == ""
		if looked && (found == nil || e.Value != "" || found.Value == "") {
			found = e
		}
	}
	return found
}

// keyWords says what was seen of the key, and whose it is.
func (t *Timeline) keyWords(e *history.Event) string {
	switch {
	case e == nil:
		return ""
	case e.Value == "" || e.TTL == -2:
		return "the key was free"
	case e.TTL >= 0:
		return fmt.Sprintf("the key had %s to live and %s", span(time.Duration(e.TTL)*time.Millisecond), t.holderWords(e))
	}
	words := "the key has no expiry (PTTL -1) and " + t.holderWords(e)
	if g := t.holderOf(e); g != nil && t.Death(g.Instance()) != nil {
		words += ": it stays locked for ever"
	}
	return words
}

func (t *Timeline) holderWords(e *history.Event) string {
	g := t.holderOf(e)
	switch {
	case g == nil:
		return "its holder isn't known"
	case t.Death(g.Instance()) != nil:
		return fmt.Sprintf("its holder, %s, is dead", instanceName(g.Instance()))
	default:
		return fmt.Sprintf("its holder, %s, is alive", g)
	}
}

// holderOf is the grant whose key somebody looked at, or nil.
func (t *Timeline) holderOf(e *history.Event) *Grant {
	for _, g := range slices.Backward(t.Grants) {
		if g.Event.At <= e.At && g.Event.Value == e.Value && (e.Key == "" || g.Event.Key == e.Key) {
			return g
		}
	}
	return nil
}
