// Package diagnose looks at a Redis server that holds locks, as somebody would
// in the middle of an incident: who is connected, what was slow, which locks
// never expire, who holds one for long, and what about the server endangers
// them. It sends commands that read and nothing else, never KEYS or MONITOR, and
// ends in bounded time however large the server is.
package diagnose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster/redisnode"
)

// Schema names the JSON document. It only changes when a field changes its
// meaning or goes away.
const Schema = "oversell.diagnosis/v1"

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Problem Level = "problem" // it breaks locks now, or will under load
	Risk    Level = "risk"    // it can break locks one day, or costs time
)

// Finding is something to know about.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"` // "keys", "memory", "connections", ...
	Text  string `json:"text"`
	Hint  string `json:"hint"`
}

// Unasked is a question that the server didn't answer.
type Unasked struct {
	Command string `json:"command"`
	Why     string `json:"why"`
	// Matters says that the answer could have been a problem.
	Matters bool `json:"matters"`
}

// Verdict sums a report up.
type Verdict string

// The verdicts.
const (
	Healthy Verdict = "ok"      // no problem, and everything was asked that could be one
	Ailing  Verdict = "problem" // at least one problem
	Unclear Verdict = "unknown" // no problem was found where one could be looked for
)

// Report is what was found.
type Report struct {
	Schema      string       `json:"schema"`
	At          time.Time    `json:"at"`
	Target      string       `json:"target"` // without passwords
	Verdict     Verdict      `json:"verdict"`
	Findings    []Finding    `json:"findings"`
	Unasked     []Unasked    `json:"unasked"`
	Server      Server       `json:"server"`
	Connections *Connections `json:"connections,omitempty"`
	SlowLog     *SlowLog     `json:"slow_log,omitempty"`
	Keys        *Keys        `json:"keys,omitempty"`
	DurationMS  int64        `json:"duration_ms"`
}

// Options tune an examination.
type Options struct {
	Target   string        // how the server is called in the report
	Prefixes []string      // of the keys that are locks; none: names that look like locks
	TTL      time.Duration // what the locks ask for; 0 when it isn't known
	Sample   time.Duration // for how long the holders are watched
	Scan     time.Duration // how long looking for keys may take; 0: 10 s
}

// exam is an examination under way.
type exam struct {
	Options
	ctx    context.Context
	c      *redis.Client
	info   redisnode.Info
	config map[string]string
	r      *Report
	broken error // the connection, not an answer
}

// Examine looks at the server behind c. An error means that there is no report:
// the server can't be reached, doesn't let us in, or was gone in the middle.
func Examine(ctx context.Context, c *redis.Client, o Options) (Report, error) {
	began := time.Now()
	if o.Scan <= 0 {
		o.Scan = 10 * time.Second
	}
	r := Report{Schema: Schema, At: began.UTC().Truncate(time.Second), Target: o.Target, Findings: []Finding{}, Unasked: []Unasked{}}
	x := &exam{Options: o, ctx: ctx, c: c, info: redisnode.Info{}, config: map[string]string{}, r: &r}
	if err := c.Ping(ctx).Err(); err != nil && !redis.HasErrorPrefix(err, "NOPERM") {
		return r, fmt.Errorf("reach the server: %w", err)
	}
	for _, look := range []func(){x.lookAtInfo, x.lookAtConfig, x.lookAtServer, x.lookAtConnections, x.lookAtSlowLog, x.lookAtKeys} {
		look()
		if x.broken != nil {
			return r, x.broken
		}
	}
	r.Verdict = verdict(r)
	r.DurationMS = time.Since(began).Milliseconds()
	return r, nil
}

// verdict is what findings and open questions come to: what is unknown is
// never well.
func verdict(r Report) Verdict {
	for _, f := range r.Findings {
		if f.Level == Problem {
			return Ailing
		}
	}
	for _, u := range r.Unasked {
		if u.Matters {
			return Unclear
		}
	}
	return Healthy
}

// answered reports whether a command was answered. What the server refuses is
// noted; what breaks the connection ends the examination. Only the first of
// several refusals of one command is kept.
func (x *exam) answered(command string, matters bool, err error) bool {
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return true
	case !redisnode.Refused(err):
		if x.broken == nil {
			x.broken = fmt.Errorf("%s: %w", command, err)
		}
		return false
	}
	x.unasked(command, err.Error(), matters)
	return false
}

func (x *exam) unasked(command, why string, matters bool) {
	for _, u := range x.r.Unasked {
		if u.Command == command {
			return
		}
	}
	x.r.Unasked = append(x.r.Unasked, Unasked{command, why, matters})
}

func (x *exam) problem(about, hint, format string, args ...any) {
	x.r.Findings = append(x.r.Findings, Finding{Problem, about, fmt.Sprintf(format, args...), hint})
}

func (x *exam) risk(about, hint, format string, args ...any) {
	x.r.Findings = append(x.r.Findings, Finding{Risk, about, fmt.Sprintf(format, args...), hint})
}

func (x *exam) lookAtInfo() {
	text, err := x.c.Info(x.ctx).Result()
	if x.answered("INFO", true, err) {
		x.info = redisnode.ParseInfo(text)
	}
}

// settings are read one by one: before 7.0 CONFIG GET takes one name.
var settings = []string{
	"save", "appendfsync", "min-replicas-to-write", "slowlog-log-slower-than", "stop-writes-on-bgsave-error",
	"client-output-buffer-limit", "maxclients",
}

func (x *exam) lookAtConfig() {
	for _, name := range settings {
		got, err := x.c.ConfigGet(x.ctx, name).Result()
		if !x.answered("CONFIG GET", false, err) {
			return
		}
		if v, ok := got[name]; ok {
			x.config[name] = v
		}
	}
}
