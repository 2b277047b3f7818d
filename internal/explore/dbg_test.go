package explore

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"sync/atomic"
	"time"
)

func (w *world) dbg() string {
	var s strings.Builder
	fmt.Fprintf(&s, "now=%v slow=%v late=%v left=%v faults=%d\n", time.Since(w.start), w.slow, w.late, w.left, w.faults)
	for _, b := range w.buyers {
		fmt.Fprintf(&s, " %d done=%v crashed=%v held=%v view=%x trail=%d arr=%d\n", b.n, b.done, b.crashed, b.held, b.view.A, len(b.trail), b.arrivals)
		for _, f := range b.trail { fmt.Fprintf(&s, "     trail %q\n", f.shape) }
		for _, p := range b.pend {
			fmt.Fprintf(&s, "    [%s] sent=%d folded=%v blocked=%v orphan=%v", lettered(commandText(w.shapeOf(b, p))), p.sent, p.folded, w.blocked(p), p.orphan())
			if p.conn != nil { fmt.Fprintf(&s, " until=%v", p.conn.until.Sub(w.start)) }
			fmt.Fprintln(&s)
		}
	}
	for _, e := range w.states[0].entries { fmt.Fprintf(&s, "  %v\n", e) }
	return s.String()
}

func TestDbg(t *testing.T) {
	if os.Getenv("DBG") == "" { t.Skip() }
	hz, _ := ParseHazards(strings.Split(os.Getenv("DBG"), ","))
	c := Case{Kind: kind(t, "lua-watchdog"), Buyers: 2, Stock: 1, Hazards: hz, Preemptions: -1, Seed: 1}.withDefaults()
	g := newGraph(true, false)
	texts := map[view]string{}
	paths := map[view][]event{}
	var beat atomic.Int64
	bad := 0
	inBubble(t, func() {
		w, _ := newWorld(c)
		defer w.close()
		w.beat = &beat
		if err := w.pilot(); err != nil { fmt.Println(err); return }
		k := &worker{w: w, g: g, beat: &beat}
		debugEnter = func(key view, old *node, evs []event, path []event) {
			if old == nil {
				texts[key] = w.dbg()
				paths[key] = path
				return
			}
			same := len(evs) == len(old.edges)
			for i := range evs { if same && evs[i] != old.edges[i].ev { same = false } }
			re := strings.NewReplacer(); _ = re; if a, b := strip(texts[key]), strip(w.dbg()); (!same || a != b) && bad < 6 {
				bad++
				fmt.Println("CONFLICT", words(evs)); fmt.Println(words(paths[key])); fmt.Println(texts[key]); fmt.Println(words(path)); fmt.Println(w.dbg())
			}
		}
		if err := k.exhaust(); err != nil { fmt.Println(err); _ = w.end()
			if nd, ok := err.(*NondeterminismError); ok {
				fmt.Println(nd.Schedule)
			}
		}
	})
	fmt.Println(len(g.nodes), bad)
}

var stripRe = regexp.MustCompile(`now=\S+|slow=\S+|arr=\d+|until=\S+ |\d+\.\d+s|\d+\.\d+ms|\[[A-Z0-9]{20,}\]|0x[0-9a-f]+`)

func strip(s string) string { return stripRe.ReplaceAllString(s, "") }
