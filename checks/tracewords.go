package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// moment is a line of a story, and when it happened.
type moment struct {
	at   time.Duration
	text string
}

func (m moment) String() string { return timed(m.at, m.text) }

// Lines tell the trace in plain words, in order of time: from the fault to the
// order.
func (tr Trace) Lines() []string { return inOrder(tr.moments()) }

// inOrder sorts moments by time and leaves out what is told already.
func inOrder(ms []moment) []string {
	slices.SortStableFunc(ms, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	var lines []string
	for _, m := range ms {
		if line := m.String(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (tr Trace) moments() []moment {
	var ms []moment
	for i, l := range slices.Backward(tr.Losses) {
		m := l.moment()
		if i == len(tr.Losses)-1 {
			m.text += tr.why(l)
		}
		ms = append(ms, m)
	}
	if o := tr.Overlap; o != nil {
		ms = append(ms, o.moment())
	}
	return append(ms, moment{tr.Commit.At, tr.opening() + ": " + tr.Commit.words(tr.Seller)})
}

func (o Overlap) moment() moment {
	return moment{o.From, fmt.Sprintf("%s and %s were both inside for %s", o.First, o.Second, span(o.For))}
}

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
	text := fmt.Sprintf("%s wrote a stock of %d over %d", c.Purchase, c.After, c.Before)
	if b := c.Purchase.Begun; b != nil {
		text += fmt.Sprintf("; it had read %d at %s", c.Read, seconds(b.At))
	}
	if seller != nil {
		text += fmt.Sprintf(", and %s sold in between", seller)
	}
	return text
}

// moment tells how a key was lost.
func (l Lost) moment() moment {
	whose := "the key of " + l.Holder.String()
	at := l.At
	switch {
	case l.Cause == Expired:
		return moment{at, whose + " expired" + l.onServers()}
	case l.Cause == DeletedByOther:
		return moment{at, fmt.Sprintf("%s was removed by the %s of %s", whose, l.command(), l.deleter())}
	case l.Cause == LostData && l.Fault == nil:
		return moment{at, fmt.Sprintf("%s was gone from %s, and the history doesn't show why", whose, l.Server)}
	case l.Cause == LostData:
		return moment{at, fmt.Sprintf("%s was lost when %s", whose, fmt.Sprintf(takers[l.Fault.Fault], l.servers()))}
	case l.Cause == LostWithServer && l.Event == nil:
		return moment{at, fmt.Sprintf("%s stayed behind on server %s, and %s was granted it on another one", whose, l.Server, l.Grant.Next)}
	case l.Cause == LostWithServer && l.Event.Text == "promoted":
		return moment{at, fmt.Sprintf("%s stayed behind on server %s when %s was promoted", whose, l.Server, l.Event.Server)}
	case l.Cause == LostWithServer:
		noun := "server"
		if len(l.Holder.Hold.lostOn(l.Grant)) > 1 {
			noun = "the last of the servers"
		}
		return moment{at, fmt.Sprintf("%s was lost when %s %s died", whose, noun, l.servers())}
	default:
		return moment{at, whose + " was gone by then, and the history doesn't show why"}
	}
}

// servers name the server that lost the key or, of a quorum, those that did so
// until too few had it.
func (l Lost) servers() string { return strings.Join(l.Holder.Hold.lostOn(l.Grant), ", ") }

// onServers says of how many, where there are several.
func (l Lost) onServers() string {
	if l.Holder.Hold.need > 1 {
		return fmt.Sprintf(" on %s of %d", counted(len(l.Holder.Hold.lostOn(l.Grant)), "server"), len(l.Holder.Hold.Grants))
	}
	return ""
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
	case NeverGranted:
		return "with a holder whom no server had granted the key"
	case LostData:
		return "after the first holder's server had lost the key"
	default:
		return "for a reason that the history doesn't show"
	}
}
