package main

import (
	"github.com/oversell/oversell/internal/explore"
)

// exploreSchema names the JSON document of `oversell explore`. It only changes
// when a field changes its meaning or goes away.
const exploreSchema = "oversell.exploration/v1"

type explorationDoc struct {
	Schema       string            `json:"schema"`
	Explorations []explorationItem `json:"explorations"`
}

type explorationItem struct {
	Lock        string             `json:"lock"`
	NotExplored string             `json:"not_explored,omitempty"`
	Buyers      int                `json:"buyers"`
	Masters     int                `json:"masters,omitempty"` // independent ones; none for one server
	Stock       int                `json:"stock"`
	TTLMS       int64              `json:"ttl_ms"`
	Hazards     []explore.Budget   `json:"hazards"`
	Faults      int                `json:"faults"`
	Preemptions int                `json:"preemptions"`
	Seed        uint64             `json:"seed"`
	Strategy    string             `json:"strategy,omitempty"`
	Complete    bool               `json:"complete"`
	Why         string             `json:"why,omitempty"` // it isn't complete
	Schedules   explore.Counts     `json:"schedules"`
	Played      int64              `json:"played"`
	Events      int64              `json:"events"`
	States      int                `json:"states"`
	Open        int                `json:"open"`
	FirstBad    int64              `json:"first_oversold"`
	FirstBadMS  int64              `json:"first_oversold_ms,omitempty"`
	Inferred    int64              `json:"followed_from_others"`
	Strays      int64              `json:"strays,omitempty"` // schedules in which it went another way than before
	Strayed     *strayItem         `json:"strayed,omitempty"`
	DurationMS  int64              `json:"duration_ms"`
	Sampled     *sampleItem        `json:"sampled,omitempty"`
	Found       []explore.Schedule `json:"found"`
}

type sampleItem struct {
	Strategy string  `json:"strategy"`
	Played   int64   `json:"played"`
	Oversold float64 `json:"oversold"`
	Distinct int     `json:"different_ends"`
	Depth    int     `json:"depth,omitempty"`
	Bound    float64 `json:"bound,omitempty"`
}

func explorationDocument(done []exploration) explorationDoc {
	doc := explorationDoc{Schema: exploreSchema, Explorations: []explorationItem{}}
	for _, x := range done {
		doc.Explorations = append(doc.Explorations, explorationOf(x))
	}
	return doc
}

// strayItem is an example of a stray.
type strayItem struct {
	Where    string   `json:"where"`
	Schedule []string `json:"schedule"`
	Now      string   `json:"now"`
	Before   string   `json:"before,omitempty"`
}

func explorationOf(x exploration) explorationItem {
	c := x.c
	item := explorationItem{
		Lock: c.Kind.Name, Buyers: c.Buyers, Masters: c.Masters, Stock: c.Stock, TTLMS: c.TTL.Milliseconds(), Hazards: c.Hazards,
		Faults: c.Faults, Preemptions: c.Preemptions, Seed: c.Seed, Found: []explore.Schedule{},
	}
	if x.not != nil {
		item.NotExplored = x.not.Error()
		return item
	}
	r := x.report
	item.Strategy, item.Complete, item.Why, item.Schedules = string(r.Strategy), r.Complete, r.Why, r.Counts
	item.Played, item.Events, item.States, item.Open, item.FirstBad = r.Runs, r.Events, r.States, r.Open, r.FirstBad
	item.FirstBadMS, item.Inferred = r.FirstIn.Milliseconds(), r.Inferred
	item.Strays = r.Strays
	if e := r.Strayed; e != nil {
		item.Strayed = &strayItem{e.Where, e.Schedule, e.Now, e.Before}
	}
	item.DurationMS = r.Wall.Milliseconds()
	if s := r.Sampled; s != nil {
		item.Sampled = &sampleItem{string(s.Strategy), s.Runs, s.Counts.Oversold, s.Distinct, s.Depth, s.Bound}
	}
	for _, found := range r.Found {
		item.Found = append(item.Found, found.Schedule())
	}
	return item
}
