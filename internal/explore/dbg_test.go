package explore

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func (w *world) dbg() string {
	var s strings.Builder
	fmt.Fprintf(&s, "now=%v slow=%v late=%v left=%v faults=%d\n", time.Since(w.start), w.slow, w.late, w.left, w.faults)
	for _, b := range w.buyers {
		fmt.Fprintf(&s, " %d done=%v crashed=%v held=%v view=%x trail=%d arr=%d\n", b.n, b.done, b.crashed, b.held, b.view.A, len(b.trail), b.arrivals)
		for _, f := range b.trail {
			fmt.Fprintf(&s, "     trail %q\n", f.shape)
		}
		for _, p := range b.pend {
			fmt.Fprintf(&s, "    [%s] sent=%d folded=%v blocked=%v orphan=%v", lettered(commandText(w.shapeOf(b, p))), p.sent, p.folded, w.blocked(p), p.orphan())
			if p.conn != nil {
				fmt.Fprintf(&s, " until=%v", p.conn.until.Sub(w.start))
			}
			fmt.Fprintln(&s)
		}
	}
	for _, e := range w.states[0].entries {
		fmt.Fprintf(&s, "  %s %v\n", e.Key, e.TTL)
	}
	return s.String()
}

func TestDbg(t *testing.T) {
	if os.Getenv("DBG") == "" {
		t.Skip()
	}
	c := two(t, kind(t, "lua-watchdog"), strings.Split(os.Getenv("DBG"), ",")...).withDefaults()
	texts := map[view]string{}
	debugEnterW = func(key view, w *world) {
		if texts[key] == "" {
			texts[key] = w.dbg()
		}
	}
	debugDiverged = func(key view, w *world) {
		fmt.Println("WAS", texts[key])
		fmt.Println("NOW", w.dbg())
	}
	dbgf = (*world).dbg
	debugCircle = func(w *world) { fmt.Println("CIRCLE", w.dbg()) }
	_, err := Explore(t.Context(), c, Config{T: t, Workers: 1, Strategy: Exhaustive})
	fmt.Println(err)
	var nd *NondeterminismError
	if !errors.As(err, &nd) {
		return
	}
	fmt.Println(nd.Schedule)
	tm := &team{cfg: Config{T: t, Workers: 1}, c: c, halt: func() {}}
	_ = tm.work(func(k *worker) error {
		var all [][]string
		for range 20 {
			k.w.begin()
			var log []string
			for _, text := range nd.Schedule {
				ev, _ := parseEvent(text)
				if !k.w.has(ev) {
					log = append(log, "no "+text)
					break
				}
				k.w.apply(ev)
				k.w.enabled(nil)
				log = append(log, text+" "+fmt.Sprint(k.w.state().A)+"\n"+k.w.dbg())
			}
			all = append(all, log)
			_ = k.w.end()
		}
		for n := 1; n < len(all); n++ {
			for i := range all[0] {
				if strings.SplitN(all[0][i], "\n", 2)[0] != strings.SplitN(all[n][i], "\n", 2)[0] {
					fmt.Println("DIFF", n, i, "\n", all[0][i], "\n", all[n][i])
					return nil
				}
			}
		}
		fmt.Println("no diff", all[0][len(all[0])-1])
		return nil
	})
}
