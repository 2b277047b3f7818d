package diagnose

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Connections is who is connected.
type Connections struct {
	Connected *int64  `json:"connected,omitempty"`
	Max       *int64  `json:"max,omitempty"`
	Blocked   *int64  `json:"blocked,omitempty"`
	Rejected  *int64  `json:"rejected,omitempty"` // since the start
	Groups    []Group `json:"groups"`             // the largest first
	Others    int     `json:"others"`             // connections of groups that aren't listed
	Buffers   string  `json:"output_buffer_limit,omitempty"`
}

// Group is the connections of one name from one host.
type Group struct {
	Host    string `json:"host"`
	Name    string `json:"name"` // as CLIENT SETNAME has it
	Count   int    `json:"count"`
	IdleS   int64  `json:"idle_s"`     // the longest
	AgeS    int64  `json:"age_s"`      // the oldest
	Output  int64  `json:"output"`     // bytes of replies that wait to be read
	Command string `json:"last_cmd"`   // that most of them sent last
	Monitor bool   `json:"monitoring"` // one of them runs MONITOR
}

const (
	shownGroups = 15
	crowded     = 0.8     // of maxclients
	heavyOutput = 1 << 20 // bytes
)

func (x *exam) lookAtConnections() {
	c := &Connections{
		Connected: x.number("connected_clients"), Max: x.number("maxclients"), Blocked: x.number("blocked_clients"),
		Rejected: x.number("rejected_connections"), Groups: []Group{}, Buffers: x.config["client-output-buffer-limit"],
	}
	if v, err := strconv.ParseInt(x.config["maxclients"], 10, 64); err == nil && c.Max == nil {
		c.Max = &v
	}
	text, err := x.c.ClientList(x.ctx).Result()
	if x.answered("CLIENT LIST", false, err) {
		c.Groups = groups(text)
	}
	x.r.Connections = c
	x.judgeConnections(c)
	for _, g := range c.Groups[min(shownGroups, len(c.Groups)):] {
		c.Others += g.Count
	}
	c.Groups = c.Groups[:min(shownGroups, len(c.Groups))]
}

func (x *exam) judgeConnections(c *Connections) {
	if c.Connected != nil && c.Max != nil && *c.Max > 0 && float64(*c.Connected) >= crowded*float64(*c.Max) {
		x.problem("connections", "raise maxclients, or have fewer and shorter pools: the biggest groups are listed",
			"%d of %d connections are taken; further ones are refused", *c.Connected, *c.Max)
	}
	if c.Rejected != nil && *c.Rejected > 0 {
		x.risk("connections", "compare maxclients with the pools of all instances, watchdogs included",
			"%d connections were rejected since the start, because there were too many", *c.Rejected)
	}
	for _, g := range c.Groups {
		if g.Output >= heavyOutput {
			x.risk("connections", "these clients don't read what they asked for: see what they run",
				"replies of %s wait for %s", bytes(g.Output), g.who())
		}
		if g.Monitor {
			x.risk("connections", "end it: MONITOR slows down every command", "%s runs MONITOR", g.who())
		}
	}
}

func (g Group) who() string {
	if g.Name == "" {
		return g.Host
	}
	return g.Name + " at " + g.Host
}

// groups reads the answer to CLIENT LIST, and leaves out the connection that
// has asked.
func groups(text string) []Group {
	type id struct{ host, name string }
	found := map[id]*Group{}
	commands := map[id]map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(field(line, "cmd", " "), "client") {
			continue
		}
		k := id{hostOf(field(line, "addr", " ")), field(line, "name", " ")}
		g := found[k]
		if g == nil {
			g = &Group{Host: k.host, Name: k.name}
			found[k], commands[k] = g, map[string]int{}
		}
		g.Count++
		g.IdleS = max(g.IdleS, number(line, "idle"))
		g.AgeS = max(g.AgeS, number(line, "age"))
		g.Output += number(line, "omem")
		g.Monitor = g.Monitor || strings.Contains(field(line, "flags", " "), "O")
		commands[k][field(line, "cmd", " ")]++
	}
	list := []Group{}
	for k, g := range found {
		g.Command = most(commands[k])
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func number(line, name string) int64 {
	n, _ := strconv.ParseInt(field(line, name, " "), 10, 64) // 0 where an old server doesn't tell
	return n
}

// hostOf is an address without its port; that of a socket stays as it is.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if path, ok := strings.CutSuffix(addr, ":0"); ok && strings.HasPrefix(path, "/") {
		return path
	}
	return host
}

// most is the most frequent word, of several the first in the alphabet.
func most(words map[string]int) string {
	best := ""
	for w, n := range words {
		if best == "" || n > words[best] || n == words[best] && w < best {
			best = w
		}
	}
	return best
}
