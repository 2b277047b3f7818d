package checks

import (
	"fmt"
	"strings"
)

// Lines tell the trace in plain words, from the order back to the fault.
func (tr Trace) Lines() []string {
	lines := []string{tr.opening() + ": " + tr.Commit.words(tr.Seller)}
	if tr.Overlap != nil {
		lines = append(lines, tr.Overlap.String())
	}
	for i, l := range tr.Losses {
		line := l.words()
		if i == len(tr.Losses)-1 {
			line += tr.why(l)
		}
		lines = append(lines, line)
	}
	return lines
}

// String tells the trace in one sentence.
func (tr Trace) String() string { return strings.Join(tr.Lines(), "; ") }

func (tr Trace) opening() string {
	if tr.Order == 0 {
		return fmt.Sprintf("unit %d too many is back on the shelf", tr.Unit)
	}
	return fmt.Sprintf("order %d is one too many", tr.Order)
}

// words tell what a stale commit did.
func (c Commit) words(seller *Purchase) string {
	if c.Purchase == nil {
		return "the history doesn't have the commit behind it"
	}
	text := fmt.Sprintf("%s wrote a stock of %d over %d at %s", c.Purchase, c.After, c.Before, seconds(c.At))
	if b := c.Purchase.Begun; b != nil {
		text += fmt.Sprintf("; it had read %d at %s", c.Read, seconds(b.At))
	}
	if seller != nil {
		text += fmt.Sprintf(", and %s sold in between", seller)
	}
	return text
}

// words tell how a key was lost.
func (l Lost) words() string {
	switch l.Cause {
	case Expired:
		return fmt.Sprintf("the key of %s expired at %s", l.Holder, seconds(l.At))
	case DeletedByOther:
		return fmt.Sprintf("the key of %s was removed by the %s of %s at %s", l.Holder, l.command(), l.deleter(), seconds(l.At))
	case LostWithServer:
		if l.Event == nil {
			return fmt.Sprintf("the key of %s stayed behind on server %s, and %s was granted it on another one at %s",
				l.Holder, l.Server, l.Grant.Next, seconds(l.At))
		}
		return fmt.Sprintf("the key of %s was lost when server %s died at %s", l.Holder, l.Server, seconds(l.At))
	default:
		return fmt.Sprintf("the key of %s was gone by %s, and the history doesn't show why", l.Holder, seconds(l.At))
	}
}

// deleter names whoever sent the release that removed a key.
func (l KeyLoss) deleter() string {
	if l.By != nil {
		return l.By.String()
	}
	return instanceName(l.ByInst)
}

// command is how the key was removed, as people know it.
func (l KeyLoss) command() string {
	if l.Event == nil || l.Event.Command == "" {
		return "release"
	}
	return l.Event.Command
}

// why tells what stands behind the root of a chain of losses.
func (l Link) why(root Lost) string {
	var reasons []string
	if ttl := root.Grant.ttl; root.Cause == Expired && ttl > 0 && root.Holder.Call() > ttl {
		call := root.Holder.Call()
		reasons = append(reasons, fmt.Sprintf("its call took %s, %.1f x TTL", span(call), float64(call)/float64(ttl)))
	}
	if root.Cause == Expired && root.Server != "" {
		reasons = append(reasons, fmt.Sprintf("nothing could renew it after server %s had died at %s", root.Server, seconds(root.Event.At)))
	}
	text := strings.Join(reasons, ", and ")
	if text != "" {
		text = ": " + text
	}
	if l.Fault != nil {
		text += fmt.Sprintf(" (fault %s)", l.Fault.Fault)
	}
	return text
}

// causeWords name a cause when units are grouped by it.
func causeWords(c Cause) string {
	switch c {
	case Expired:
		return "after the first holder's key had expired"
	case DeletedByOther:
		return "after a foreign release had removed the first holder's key"
	case LostWithServer:
		return "after the first holder's key was lost with its server"
	default:
		return "for a reason that the history doesn't show"
	}
}
