package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oversell/oversell/history"
)

// faultTrack is the thread of faults and of the run itself; instances have
// their own numbers, and servers come after all instances.
const (
	faultTrack   = 0
	serverTracks = 1 << 20
)

// tracks sorts the events of one history onto the threads of a trace.
type tracks struct {
	t   *traceWriter
	pid int

	named   map[int]bool
	servers map[string]int
	open    map[string]*slice // held intervals and calls by purchase
	spans   map[int][]slice   // finished ones by track
	faults  map[int]slice     // by step
	sold    int
	last    time.Duration
}

// slice is a time on a track.
type slice struct {
	name, cat string
	purchase  string
	track     int
	from, to  time.Duration
	args      map[string]any
}

func newTracks(t *traceWriter, pid int) *tracks {
	return &tracks{
		t: t, pid: pid, named: map[int]bool{}, servers: map[string]int{},
		open: map[string]*slice{}, spans: map[int][]slice{}, faults: map[int]slice{},
	}
}

// see takes the next event of the history.
func (k *tracks) see(e history.Event) {
	k.last = max(k.last, e.At)
	if e.Instance > 0 {
		k.name(e.Instance, fmt.Sprintf("instance %d", e.Instance))
	}
	switch e.Kind {
	case history.Acquired:
		k.begin("held", e, map[string]any{"acquired": e.N})
	case history.CallStart:
		k.begin("call", e, nil)
	case history.CallEnd:
		k.finish("call", e)
	case history.ReleaseStart, history.LostNoticed:
		k.finish("held", e)
	case history.InstanceExited:
		k.died(e)
	case history.Committed:
		k.sold++
		k.instant(e.Instance, "sold", e, map[string]any{"stock read over": e.Before, "stock written": e.Units})
		k.counter("stock", e.At, e.Units)
		k.counter("sold", e.At, k.sold)
	case history.CommitRefused:
		k.instant(e.Instance, "stale write refused", e, map[string]any{"token": e.Token})
	case history.AcquireUnknown, history.CommitUnknown, history.ReleaseUnknown, history.ReleaseNotHeld:
		k.instant(e.Instance, string(e.Kind), e, nil)
	case history.MachineStalled:
		if e.Instance == 0 { // the machine itself, as far as the engine can tell
			k.faultsTrack()
		}
		k.lasted(slice{name: "stood still", cat: "machine", track: e.Instance, from: e.At - e.Took, to: e.At})
	default:
		k.seeOutside(e)
	}
}

// seeOutside takes the events of servers, faults and the run.
func (k *tracks) seeOutside(e history.Event) {
	switch e.Kind {
	case history.WireAcquired, history.WireRenewed, history.WireReleased, history.WireExpire, history.WireUnanswered:
		if e.Kind == history.WireAcquired || e.Kind == history.WireUnanswered || e.Done {
			k.instant(k.server(e.Server), wireWords[e.Kind]+fmt.Sprintf(" instance %d", e.Instance), e,
				map[string]any{"command": clean(e.Command), "value": clean(e.Value), "reply": clean(e.Text)})
		}
	case history.ServerRole:
		k.instant(k.server(e.Server), clean(e.Text), e, nil)
	case history.FaultInjected:
		k.faults[e.Step] = slice{name: clean(e.Fault), from: e.At - e.Took, args: map[string]any{"evidence": clean(e.Text), "event": e.N}}
		k.instant(k.faultsTrack(), clean(e.Fault), e, map[string]any{"evidence": clean(e.Text), "instance": e.Instance})
	case history.FaultHealed:
		if f, ok := k.faults[e.Step]; ok {
			f.cat, f.track, f.to = "fault", k.faultsTrack(), e.At
			k.lasted(f)
			delete(k.faults, e.Step)
		}
	case history.LoadStarted, history.LoadEnded:
		k.instant(k.faultsTrack(), string(e.Kind), e, map[string]any{"text": clean(e.Text)})
	}
}

// wireWords say what a server did for an instance.
var wireWords = map[history.Kind]string{
	history.WireAcquired: "granted", history.WireRenewed: "renewed", history.WireReleased: "released",
	history.WireExpire: "expiry set by", history.WireUnanswered: "unanswered:",
}

// clean makes a word of a history fit for a trace.
func clean(s string) string { return forTerminal(s, maxName) }

func (k *tracks) faultsTrack() int {
	k.name(faultTrack, "faults and load")
	return faultTrack
}

func (k *tracks) server(name string) int {
	track, ok := k.servers[name]
	if !ok {
		track = serverTracks + len(k.servers)
		k.servers[name] = track
		k.name(track, "server "+clean(name))
	}
	return track
}

// name names a track, once.
func (k *tracks) name(track int, name string) {
	if k.named[track] {
		return
	}
	k.named[track] = true
	for _, m := range []struct {
		key  string
		args map[string]any
	}{{"thread_name", map[string]any{"name": name}}, {"thread_sort_index", map[string]any{"sort_index": track}}} {
		k.t.event(traceEvent{Name: m.key, Phase: "M", PID: k.pid, TID: track, Args: m.args})
	}
}

func (k *tracks) begin(what string, e history.Event, args map[string]any) {
	if k.open[what+e.Purchase] != nil {
		return
	}
	if args == nil {
		args = map[string]any{}
	}
	args["purchase"] = clean(e.Purchase)
	name := what
	if e.Buyer > 0 {
		name = fmt.Sprintf("%s by buyer %d", what, e.Buyer)
	}
	k.open[what+e.Purchase] = &slice{name: name, cat: what, purchase: e.Purchase, track: e.Instance, from: e.At, args: args}
}

func (k *tracks) finish(what string, e history.Event) {
	if s := k.open[what+e.Purchase]; s != nil {
		k.close(what+e.Purchase, s, e.At)
	}
}

func (k *tracks) close(key string, s *slice, at time.Duration) {
	delete(k.open, key)
	s.to = at
	k.lasted(*s)
}

// lasted keeps what is over until its track is written.
func (k *tracks) lasted(s slice) {
	if s.to > s.from {
		k.spans[s.track] = append(k.spans[s.track], s)
	}
}

// died ends everything that an instance was in.
func (k *tracks) died(e history.Event) {
	for key, s := range k.open {
		if s.track == e.Instance {
			k.close(key, s, e.At)
		}
	}
	k.instant(e.Instance, "ended", e, map[string]any{"how": clean(e.Text)})
}

// end closes what nothing closed, and writes the slices of every track.
func (k *tracks) end() {
	for key, s := range k.open {
		s.args["open"] = "to the end of the history"
		k.close(key, s, k.last)
	}
	for _, track := range slices.Sorted(maps.Keys(k.spans)) {
		for _, s := range nested(k.spans[track]) {
			k.slice(s)
		}
	}
}

func (k *tracks) slice(s slice) {
	dur := micros(s.to - s.from)
	k.t.event(traceEvent{Name: s.name, Phase: "X", TS: micros(s.from), Dur: &dur, PID: k.pid, TID: s.track, Cat: s.cat, Args: s.args})
}

func (k *tracks) instant(track int, name string, e history.Event, args map[string]any) {
	if args == nil {
		args = map[string]any{}
	}
	args["event"] = e.N
	if e.Purchase != "" {
		args["purchase"] = clean(e.Purchase)
	}
	k.t.event(traceEvent{Name: name, Phase: "i", TS: micros(e.At), PID: k.pid, TID: track, Scope: "t", Args: args})
}

func (k *tracks) counter(name string, at time.Duration, n int) {
	k.t.event(traceEvent{Name: name, Phase: "C", TS: micros(at), PID: k.pid, Args: map[string]any{"units": n}})
}

// nested cuts slices of one track so that any two of them either don't meet or
// lie one within the other, as the format demands of a track. Two buyers of one
// instance who were inside at the same time, the second for longer, become the
// first one's slice with the second one's in it, and the rest of the second.
func nested(all []slice) []slice {
	slices.SortStableFunc(all, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(b.cat, a.cat), cmp.Compare(a.purchase, b.purchase))
	})
	var out, stack []slice
	until := func(at time.Duration) { // end everything on the stack that ends by then
		for {
			i := earliest(stack, at)
			if i < 0 {
				return
			}
			end := stack[i].to
			for j := len(stack) - 1; j >= i; j-- {
				part := stack[j]
				part.to = end
				if part.to > part.from {
					out = append(out, part)
				}
				stack[j].from = end
			}
			stack = slices.Delete(stack, i, i+1)
		}
	}
	for _, s := range all {
		until(s.from)
		stack = append(stack, s)
	}
	until(1<<63 - 1)
	return out
}

// earliest is the place of the slice that ends first, if it ends by then, else
// -1. Of several the innermost is taken.
func earliest(stack []slice, at time.Duration) int {
	found := -1
	for i, s := range stack {
		if s.to <= at && (found < 0 || s.to <= stack[found].to) {
			found = i
		}
	}
	return found
}
