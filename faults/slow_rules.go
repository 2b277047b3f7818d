package faults

import (
	"strings"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/wire"
)

// slowRules delays every command to nodes, and returns their names too.
func slowRules(t Target, nodes []cluster.Node, ttls float64) (rules []*wire.Rule, names string) {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.Name()
		rules = append(rules, t.Rules.Add(
			wire.Match{Server: n.Name(), Times: wire.Always},
			wire.Delay(time.Duration(ttls*float64(t.Plan.TTL))),
		))
	}
	return rules, strings.Join(list, ", ")
}
