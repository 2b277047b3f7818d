package explore

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg2(t *testing.T) {
	if os.Getenv("DBG2") == "" {
		t.Skip()
	}
	hz, _ := ParseHazards(strings.Split(os.Getenv("DBG2"), ","))
	c := Case{Kind: kind(t, "lua-watchdog"), Buyers: 2, Stock: 1, Hazards: hz, Preemptions: -1, Seed: 1}.withDefaults()
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
	for range 5 {
		clear(texts)
		_, err := Explore(t.Context(), c, Config{T: t, Workers: 2, Strategy: Exhaustive})
		fmt.Println(err)
		if err != nil {
			fmt.Println(err.(*NondeterminismError).Schedule)
			break
		}
	}
}
