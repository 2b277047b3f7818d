package retrace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oversell/oversell/checks"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/timeline"
)

// both names two purchases shortly.
func both(a, b *checks.Purchase) string {
	if a.Instance == b.Instance {
		return fmt.Sprintf("buyers %d and %d of instance %d", a.Buyer, b.Buyer, a.Instance)
	}
	return fmt.Sprintf("instances %d and %d", a.Instance, b.Instance)
}

// rows lists every event, without its words yet.
func (d *drawing) rows() {
	d.out.Events = make([]timeline.Row, 0, len(d.c.Events))
	for _, e := range d.c.Events {
		d.out.Events = append(d.out.Events, timeline.Row{
			N: e.N, At: e.At, Kind: e.Kind, Instance: e.Instance, Buyer: e.Buyer,
		})
	}
}

// rowText is what an event says besides its kind, its time and who it is about.
func rowText(e *history.Event) string {
	switch e.Kind {
	case history.WireAcquired, history.WireExpire, history.WireRenewed, history.WireReleased, history.WireUnanswered:
		return wireText(e)
	case history.Begun:
		return fmt.Sprintf("read a stock of %d, token %d", e.Units, e.Token)
	case history.CommitStart:
		return fmt.Sprintf("about to write a stock of %d, token %d", e.Units, e.Token)
	case history.Committed:
		return fmt.Sprintf("wrote a stock of %d over %d, token %d", e.Units, e.Before, e.Token)
	case history.CommitRefused:
		return fmt.Sprintf("the fence refused token %d", e.Token)
	case history.OrderFound:
		return fmt.Sprintf("order of %s, token %d", e.Purchase, e.Token)
	case history.StockCounted:
		return fmt.Sprintf("%d left, %d orders", e.Units, e.Count)
	case history.KeyState:
		return keyText(e)
	case history.CallEnd:
		return "after " + checks.Span(e.Took)
	case history.MachineStalled:
		return joined(e.Fault, "ran nothing for "+checks.Span(e.Took), e.Text)
	case history.WirePolls:
		return fmt.Sprintf("%d attempts to acquire were refused", e.Count)
	case history.ServerInfo, history.ServerSampled:
		return joined(e.Server, infoText(e.Info))
	case history.ServerHealth:
		health := "healthy"
		if !e.Done {
			health = "not healthy"
		}
		return joined(e.Server, e.Phase, health, e.Text)
	}
	return joined(e.Server, e.Fault, e.Phase, e.Text, e.Err)
}

func wireText(e *history.Event) string {
	reply := ""
	switch {
	case e.Kind == history.WireUnanswered:
		reply = "no reply"
	case e.Text != "":
		reply = "replied " + e.Text
	}
	value := ""
	if e.Value != "" {
		value = "value " + e.Value
	}
	took := ""
	if e.Took > 0 {
		took = "after " + checks.Span(e.Took)
	}
	return joined(strings.TrimSpace(e.Command+" on "+e.Server), reply, took, value)
}

func keyText(e *history.Event) string {
	ttl := fmt.Sprintf("%d ms to live", e.TTL)
	switch {
	case e.Err != "":
		return joined(e.Server, e.Err)
	case e.TTL == -2:
		return joined(e.Server, "no key")
	case e.TTL == -1:
		ttl = "no expiry"
	}
	return joined(e.Server, "value "+e.Value, ttl)
}

func infoText(info map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(info)) {
		parts = append(parts, fmt.Sprintf("%s %v", name, info[name]))
	}
	return strings.Join(parts, ", ")
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}
