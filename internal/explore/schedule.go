package explore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/locks"
)

// ScheduleSchema names the format of schedule files. It only changes when a
// field changes its meaning or goes away.
const ScheduleSchema = "oversell.schedule/v1"

// Schedule is a counterexample as a file.
type Schedule struct {
	Schema      string   `json:"schema"`
	Lock        string   `json:"lock"`
	Property    Property `json:"property"`
	Shortest    bool     `json:"shortest"`
	Buyers      int      `json:"buyers"`
	Masters     int      `json:"masters,omitempty"` // independent ones; 0 for one server
	Stock       int      `json:"stock"`
	TTLMS       int64    `json:"ttl_ms"`
	Hazards     []Budget `json:"hazards"`
	Faults      int      `json:"faults"`
	Preemptions int      `json:"preemptions"`
	Seed        uint64   `json:"seed"`
	Tale        []string `json:"tale"`
	Steps       []Step   `json:"steps"`
}

// Schedule is x as a file.
func (x *Counterexample) Schedule() Schedule {
	c := x.Case
	return Schedule{
		Schema: ScheduleSchema, Lock: c.Kind.Name, Property: x.Property, Shortest: x.Shortest,
		Buyers: c.Buyers, Masters: c.Masters, Stock: c.Stock, TTLMS: c.TTL.Milliseconds(), Hazards: c.Hazards,
		Faults: c.Faults, Preemptions: c.Preemptions, Seed: c.Seed, Tale: x.Tale, Steps: x.Steps,
	}
}

// File is what ParseSchedule reads.
func (s Schedule) File() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// ParseSchedule reads a schedule file.
func ParseSchedule(data []byte) (Schedule, error) {
	var s Schedule
	if err := json.Unmarshal(data, &s); err != nil {
		return s, hint.Wrap(fmt.Errorf("this is no schedule file: %w", err), "oversell explore writes one for each counterexample")
	}
	if s.Schema != ScheduleSchema {
		return s, hint.Wrap(fmt.Errorf("this is no schedule file: its schema is %q, not %q", s.Schema, ScheduleSchema),
			"oversell explore writes one for each counterexample")
	}
	if _, err := s.events(); err != nil {
		return s, err
	}
	return s, nil
}

// Case is what the schedule is one of, for a lock kind of that name.
func (s Schedule) Case(k locks.Kind) Case {
	return Case{
		Kind: k, Buyers: s.Buyers, Masters: s.Masters, Stock: s.Stock, TTL: time.Duration(s.TTLMS) * time.Millisecond,
		Hazards: s.Hazards, Faults: s.Faults, Preemptions: s.Preemptions, Seed: s.Seed,
	}
}

func (s Schedule) events() ([]event, error) {
	var evs []event
	for i, st := range s.Steps {
		ev, err := parseEvent(st.Pick)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if ev.buyer() > s.Buyers {
			return nil, fmt.Errorf("step %d: %q: there are %d buyers", i+1, st.Pick, s.Buyers)
		}
		if ev.master() > s.Masters {
			return nil, fmt.Errorf("step %d: %q: there are %d masters", i+1, st.Pick, s.Masters)
		}
		evs = append(evs, ev)
	}
	if len(evs) == 0 {
		return nil, fmt.Errorf("the schedule has no steps")
	}
	return evs, nil
}

// parseEvent reads what event.String writes.
func parseEvent(text string) (event, error) {
	what, at, placed := strings.Cut(text, "@")
	name, rest, _ := strings.Cut(what, " ")
	for i, n := range actNames {
		if n != name {
			continue
		}
		buyer, index := 0, 0
		if rest != "" {
			who, which, both := strings.Cut(rest, ".")
			var err error
			if buyer, err = strconv.Atoi(who); err != nil || buyer < 1 || buyer > MaxBuyers {
				break
			}
			if both {
				if index, err = strconv.Atoi(which); err != nil || index < 0 || index > 0xff {
					break
				}
			}
		}
		ev := makeEvent(act(i), buyer, index)
		if placed {
			master, err := strconv.Atoi(at)
			if err != nil || master < 1 || master > MaxMasters {
				break
			}
			ev = ev.at(master - 1)
		}
		return ev, nil
	}
	return 0, fmt.Errorf("%q is no event", text)
}
