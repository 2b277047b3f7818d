package retrace

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/timeline"
)

// keys draws who had the lock's key where. The servers of a quorum are
// independent; everywhere else the key moves on with the role of the master.
func (d *drawing) keys() {
	lanes := map[string]*timeline.KeyLane{}
	for _, g := range d.c.Grants {
		server := ""
		if d.c.Plan.Shape == string(cluster.Quorum) {
			server = g.Event.Server
		}
		if lanes[server] == nil {
			lanes[server] = &timeline.KeyLane{Server: server}
		}
		lanes[server].Grants = append(lanes[server].Grants, d.grant(g))
	}
	for _, server := range slices.Sorted(maps.Keys(lanes)) {
		d.out.Keys = append(d.out.Keys, *lanes[server])
	}
}

func (d *drawing) grant(g *checks.Grant) timeline.Grant {
	out := timeline.Grant{
		Span:     timeline.Span{From: g.Event.At, To: d.c.Last()},
		Instance: g.Instance(), Server: g.Event.Server, Renewals: g.Renewals, Event: g.Event.N,
	}
	if g.Ended() {
		out.To, out.End = max(g.Event.At, g.Loss.At), endWords(g)
	} else {
		out.End = "still there at the end"
	}
	if g.Expires {
		out.Expiry = g.Expiry
	}
	if g.Purchase != nil {
		out.Buyer = g.Purchase.Buyer
	}
	out.Foreign = g.Foreign()
	out.Gone = g.Ended() && !g.Foreign() && g.Loss.Cause != checks.ReleasedByOwn
	return out
}

// endWords says how a grant ended.
func endWords(g *checks.Grant) string {
	switch l := g.Loss; l.Cause {
	case checks.ReleasedByOwn:
		return "released by its holder"
	case checks.Expired:
		return "expired"
	case checks.DeletedByOther:
		who := fmt.Sprintf("instance %d", l.ByInst)
		if l.By != nil {
			who = l.By.String()
		}
		return "removed by " + who
	case checks.LostWithServer:
		return "lost with server " + l.Server
	case checks.LostData:
		return "lost by server " + l.Server
	case checks.StillThere:
		return ""
	}
	return "gone, and the history doesn't show why"
}

// stock draws the stock after each commit, beside what was really left.
func (d *drawing) stock() {
	initial := d.c.Plan.Stock
	for i, c := range d.c.Commits {
		l := timeline.Level{At: c.At, Stock: c.After, Really: initial - i - 1, Stale: c.Stale()}
		if c.Purchase == nil {
			continue // nobody knows when
		}
		if e := c.Purchase.Commit; e != nil {
			l.Event = e.N
		}
		d.out.Stock = append(d.out.Stock, l)
	}
	slices.SortStableFunc(d.out.Stock, func(a, b timeline.Level) int { return int(a.At - b.At) })
}

func (d *drawing) overlaps() {
	for _, o := range d.c.Overlaps() {
		d.out.Overlaps = append(d.out.Overlaps, timeline.Overlap{
			Span:  timeline.Span{From: o.From, To: min(o.From+o.For, d.c.Last())},
			Text:  o.Moment().Text,
			Event: o.Second.Answer.N,
		})
	}
}
