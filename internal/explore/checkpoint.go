package explore

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/oversell/oversell/internal/hint"
)

const checkpointVersion = 9

type saved struct {
	Version int
	Case    string
	Plain   bool
	Keeps   bool
	Root    uint8
	Many    int // nodes, which follow
	Runs, Events, Inferred,
	Strays,
	FirstBad int64
}

type savedNode struct {
	A, B   uint64
	Parent int32
	Via    uint32
	Turn   uint8
	Ended  bool
	Bad    uint8
	Edges  []savedEdge
}

type savedEdge struct {
	Ev       uint32
	To       int32
	Original uint16 // of a mirrored edge
	Keys     uint64
	Wrote    bool
	Global   bool
	Hazard   int8
	Turn     uint8
}

// fingerprint is what two explorations must have in common to be one.
func (c Case) fingerprint() string {
	return fmt.Sprintf("%s buyers=%d masters=%d stock=%d ttl=%s hazards=%v faults=%d preemptions=%d seed=%d",
		c.Kind.Name, c.Buyers, c.Masters, c.Stock, c.TTL, c.Hazards, c.Faults, c.Preemptions, c.Seed)
}

// save returns what is needed to go on later. Nodes are written one by one: all of
// them at once would take more memory than the graph.
func (g *graph) save(c Case) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	to := gob.NewEncoder(zip)
	err := to.Encode(saved{
		Version: checkpointVersion, Case: c.fingerprint(), Plain: g.plain, Keeps: g.keeps, Root: uint8(g.root), Many: len(g.nodes),
		Runs: g.runs, Events: g.events, Inferred: g.inferred, Strays: g.strays, FirstBad: g.firstBad,
	})
	for i := range g.nodes {
		err = errors.Join(err, to.Encode(g.saved(&g.nodes[i])))
	}
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("save how far it came: %w", err)
	}
	return out.Bytes(), nil
}

func (g *graph) saved(n *node) savedNode {
	is := savedNode{A: n.key.A, B: n.key.B, Parent: n.parent, Via: uint32(n.via), Turn: uint8(n.turn), Ended: n.ended, Bad: uint8(n.bad)}
	for _, e := range g.of(n) {
		to := e.to
		if to == underWay {
			to = unexplored
		}
		edge := savedEdge{Ev: uint32(e.ev), To: to, Turn: uint8(e.turn)}
		if to >= 0 {
			f := g.printed(e.print)
			edge.Keys, edge.Wrote, edge.Global, edge.Hazard = f.keys, f.wrote, f.global, f.hazard
		} else {
			edge.Original = e.print
		}
		is.Edges = append(is.Edges, edge)
	}
	return is
}

// load goes on where save was called.
func (g *graph) load(data []byte, c Case) error {
	var s saved
	no := func(err error) error {
		return hint.Wrap(fmt.Errorf("resume: this is no file of an unfinished exploration: %w", err), "name the file that the interrupted exploration has left")
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return no(err)
	}
	from := gob.NewDecoder(zip)
	switch err := from.Decode(&s); {
	case err != nil:
		return no(err)
	case s.Version != checkpointVersion:
		return fmt.Errorf("resume: the file is of version %d, this program writes version %d", s.Version, checkpointVersion)
	case s.Case != c.fingerprint():
		return hint.Wrap(fmt.Errorf("resume: the file is of another exploration: %s, not %s", s.Case, c.fingerprint()), "use the same lock and flags again")
	}
	g.plain, g.keeps, g.root = s.Plain, s.Keeps, turn(s.Root)
	g.runs, g.events, g.inferred, g.strays, g.firstBad = s.Runs, s.Events, s.Inferred, s.Strays, s.FirstBad
	for range s.Many {
		var n savedNode
		if err := from.Decode(&n); err != nil {
			return no(err)
		}
		g.restore(n)
	}
	g.rooted = len(g.nodes) > 0
	return nil
}

func (g *graph) restore(is savedNode) {
	evs := make([]event, len(is.Edges))
	for i, e := range is.Edges {
		evs[i] = event(e.Ev)
	}
	n := g.add(node{
		key: view{is.A, is.B}, parent: is.Parent, via: event(is.Via), turn: turn(is.Turn), ended: is.Ended, bad: outcome(is.Bad), parts: uncomposed,
	}, evs)
	es := g.of(n)
	for i, e := range is.Edges {
		if e.To >= 0 {
			g.leads(&es[i], e.To, footprint{keys: e.Keys, wrote: e.Wrote, global: e.Global, hazard: e.Hazard, turn: turn(e.Turn)})
		} else {
			es[i].to, es[i].print, es[i].turn = e.To, e.Original, turn(e.Turn)
		}
		if e.To == unexplored {
			n.open++
			g.open++
		}
	}
}
