package reports

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/internal/timeline"
)

// laneView is one instance's lane.
type laneView struct {
	Alt    string
	Holds  []holdView
	Pauses []boxTitle
	Died   *roleView
}

type boxTitle struct {
	boxView
	Title string
}

// holdView is one purchase's time with the lock: as the holder believed it, and
// as the servers had it.
type holdView struct {
	Title  string
	Event  int64
	Held   *boxView
	Server *boxView
	Mark   *markView
}

type markView struct {
	X, Class, Icon string
	Y              int
}

// roleView is a moment with a flag beside it.
type roleView struct {
	spot
	Title, Text, Class string
	Y, H, FlagY        int
	Event              int64
}

func (b *plotter) lane(l timeline.Lane) {
	b.begin(fmt.Sprintf("instance %d", l.Instance), "")
	v := laneView{}
	counts := map[timeline.Outcome]int{}
	total := 0
	for _, h := range l.Holds {
		v.Holds = append(v.Holds, b.hold(l, h))
		counts[h.Outcome]++
		total += max(1, h.Many)
	}
	height := max(1, l.Rows) * rowHeight
	for _, p := range l.Pauses {
		what := "stood still"
		if p.Fault != "" {
			what = tidy(p.Fault)
		}
		v.Pauses = append(v.Pauses, boxTitle{
			b.box(p.From, p.To, b.y, height, 12, "", what),
			fmt.Sprintf("instance %d ran nothing for %s from %s", l.Instance, lengthOf(p.Len()), timeOf(p.From)),
		})
	}
	if d := l.Died; d != nil {
		v.Died = &roleView{
			spot: b.x.place(d.At, b.x.to), Y: b.y + 8, FlagY: b.y + 1, Text: "process ended", Event: d.Event,
			Title: fmt.Sprintf("%s: the process of instance %d ended: %s", timeOf(d.At), l.Instance, tidy(d.Text)),
		}
	}
	v.Alt = laneWords(l, total, counts)
	b.Lanes = append(b.Lanes, v)
	b.y += height + laneGap
}

// laneWords says what there is to see on a lane.
func laneWords(l timeline.Lane, total int, counts map[timeline.Outcome]int) string {
	parts := []string{fmt.Sprintf("Instance %d held the lock %s", l.Instance, plural(total, "time"))}
	for _, o := range []timeline.Outcome{timeline.Sold, timeline.Stale, timeline.Refused, timeline.Unknown} {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcomeWords(o)))
		}
	}
	if n := len(l.Pauses); n > 0 {
		parts = append(parts, "stood still "+plural(n, "time"))
	}
	if l.Died != nil {
		parts = append(parts, "its process ended at "+timeOf(l.Died.At))
	}
	return strings.Join(parts, "; ")
}

func outcomeWords(o timeline.Outcome) string {
	switch o {
	case timeline.Stale:
		return "sold over a stock that it had not read"
	case timeline.Refused:
		return "refused by the fence"
	case timeline.Unknown:
		return "with an unknown outcome"
	}
	return "sold"
}

func (b *plotter) hold(l timeline.Lane, h timeline.Hold) holdView {
	y := b.y + h.Row*rowHeight
	v := holdView{Title: holdWords(l.Instance, h), Event: h.Event}
	name := "?"
	if h.Buyer > 0 {
		name = fmt.Sprintf("buyer %d", h.Buyer)
	}
	if h.Server != (timeline.Span{}) {
		s := boxView{spot: b.x.place(h.Server.From, h.Server.To), Y: y, H: boxHeight}
		switch {
		case h.Early:
			s.Class = "early"
		case h.Unheard:
			s.Class = "unheard"
		}
		v.Server = &s
	}
	switch {
	case h.Many > 0:
		held := b.box(h.From, h.To, y+3, boxHeight-6, 9, "held many", fmt.Sprint(h.Many))
		v.Held = &held
	case h.Span != (timeline.Span{}):
		held := b.box(h.From, h.To, y+3, boxHeight-6, 9, "held", name)
		v.Held = &held
	}
	if c := h.Commit; c != nil && h.Outcome != timeline.None {
		v.Mark = &markView{X: b.x.point(c.At), Y: y + boxHeight/2, Class: string(h.Outcome)}
	}
	return v
}

// holdWords tells a hold in full.
func holdWords(instance int, h timeline.Hold) string {
	if h.Many > 0 {
		return fmt.Sprintf("instance %d: %s from %s to %s, drawn as one", instance, plural(h.Many, "purchase"), timeOf(h.From), timeOf(h.To))
	}
	who := fmt.Sprintf("instance %d", instance)
	if h.Buyer > 0 {
		who += fmt.Sprintf(", buyer %d", h.Buyer)
	}
	parts := []string{}
	if h.Span != (timeline.Span{}) {
		parts = append(parts, fmt.Sprintf("%s believed to hold the lock from %s for %s", who, timeOf(h.From), lengthOf(h.Len())))
	} else {
		parts = append(parts, who+" was granted the key and never heard of it")
	}
	if h.Server != (timeline.Span{}) {
		parts = append(parts, fmt.Sprintf("Redis had it from %s for %s", timeOf(h.Server.From), lengthOf(h.Server.Len())))
	}
	if h.End != "" {
		parts = append(parts, "then the key was "+tidy(h.End))
	}
	if h.Order > 0 {
		parts = append(parts, fmt.Sprintf("order %d", h.Order))
	}
	if h.Outcome != timeline.None && h.Outcome != timeline.Sold {
		parts = append(parts, outcomeWords(h.Outcome))
	}
	return strings.Join(parts, "; ")
}

// keyView is the lock's key in one place.
type keyView struct {
	Alt    string
	Grants []grantView
}

type grantView struct {
	Title string
	Event int64
	Box   *boxView
	TTL   *boxView
	Mark  *markView
}

// key draws who had the key on the servers, with its TTL below.
func (b *plotter) key(k timeline.KeyLane, first bool) {
	name := "Redis"
	if k.Server != "" {
		name = "Redis " + tidy(k.Server)
	}
	b.begin(shortened(name, 14), "strong")
	v := keyView{}
	for _, g := range k.Grants {
		v.Grants = append(v.Grants, b.grant(g))
	}
	v.Alt = fmt.Sprintf("%s granted the key %s", name, plural(len(k.Grants), "time"))
	b.Keys = append(b.Keys, v)
	b.y += rowHeight + 5
	if first && len(b.t.Roles) > 0 {
		b.roles(b.y - rowHeight - 5)
	}
	b.y += laneGap
}

// shortened cuts a name for the column of names.
func shortened(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

func (b *plotter) grant(g timeline.Grant) grantView {
	v := grantView{Event: g.Event, Title: grantWords(g)}
	class, text := "owner", fmt.Sprintf("instance %d", g.Instance)
	if g.Buyer > 0 {
		text += fmt.Sprintf(" · buyer %d", g.Buyer)
	}
	switch {
	case g.Many > 0:
		class, text = "owner many", fmt.Sprint(g.Many)
	case g.Foreign:
		class = "owner foreign"
	case g.Gone:
		class = "owner gone"
	}
	ttl := g.Expiry - g.From
	switch {
	case g.Many == 0 && g.Expiry == 0:
		text += " · no expiry"
	case g.Gone || g.Renewals > 0 || g.Len() > ttl/4: // elsewhere the TTL is of no account, and many would lie over each other
		v.TTL = &boxView{spot: b.x.place(g.From, g.Expiry), Y: b.y + boxHeight + 2, H: 2}
	}
	box := b.box(g.From, g.To, b.y, boxHeight, 12, class, text)
	v.Box = &box
	switch {
	case g.Foreign:
		v.Mark = &markView{X: b.x.point(g.To), Y: b.y + boxHeight/2, Class: "endfor", Icon: "refused"}
	case g.Gone:
		v.Mark = &markView{X: b.x.point(g.To), Y: b.y + boxHeight/2, Class: "endgone", Icon: "gone"}
	}
	return v
}

func grantWords(g timeline.Grant) string {
	if g.Many > 0 {
		return fmt.Sprintf("%s of the key from %s to %s, drawn as one", plural(g.Many, "grant"), timeOf(g.From), timeOf(g.To))
	}
	parts := []string{fmt.Sprintf("%s granted instance %d the key at %s for %s", tidy(g.Server), g.Instance, timeOf(g.From), lengthOf(g.Len()))}
	if g.Buyer > 0 {
		parts[0] = fmt.Sprintf("%s granted instance %d, buyer %d the key at %s for %s", tidy(g.Server), g.Instance, g.Buyer, timeOf(g.From), lengthOf(g.Len()))
	}
	if g.Expiry > 0 {
		parts = append(parts, "its TTL ended at "+timeOf(g.Expiry))
	} else {
		parts = append(parts, "without an expiry")
	}
	if g.Renewals > 0 {
		parts = append(parts, plural(g.Renewals, "renewal"))
	}
	if g.End != "" {
		parts = append(parts, tidy(g.End))
	}
	return strings.Join(parts, "; ")
}

// roles are what became of servers, each with its words up to the next one.
func (b *plotter) roles(y int) {
	if len(b.t.Roles) == 0 {
		return
	}
	for i, r := range b.t.Roles {
		until := b.x.to
		if i+2 < len(b.t.Roles) { // every other one has its flag in the second row
			until = b.t.Roles[i+2].At
		}
		flag := b.y + i%2*flagHeight
		b.Roles = append(b.Roles, roleView{
			spot: b.x.place(r.At, until), Y: y, H: flag + flagHeight - y, FlagY: flag, Text: tidy(r.Text), Event: r.Event,
			Title: timeOf(r.At) + ": " + tidy(r.Text),
		})
	}
	b.y += flagHeight * min(2, len(b.t.Roles))
}
