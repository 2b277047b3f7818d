package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// SlowLog is what the server noted as slow.
type SlowLog struct {
	ThresholdUS *int64 `json:"threshold_us,omitempty"` // negative: nothing is noted
	Entries     int    `json:"entries"`                // that were looked at, see askedSlow
	Recent      int    `json:"recent"`                 // of the last hour
	Slowest     []Slow `json:"slowest"`
}

// Slow is one command that took long. Only its name and its keys are shown:
// arguments can be what nobody should read.
type Slow struct {
	At      time.Time `json:"at"`
	TookMS  float64   `json:"took_ms"`
	Command string    `json:"command"`
	Client  string    `json:"client"`
	Name    string    `json:"client_name"`
}

const (
	askedSlow = 128 // entries
	shownSlow = 10
	recently  = time.Hour
)

func (x *exam) lookAtSlowLog() {
	entries, err := x.c.SlowLogGet(x.ctx, askedSlow).Result()
	if !x.answered("SLOWLOG GET", false, err) {
		return
	}
	s := &SlowLog{Entries: len(entries), Slowest: []Slow{}}
	x.r.SlowLog = s
	if v, err := strconv.ParseInt(x.config["slowlog-log-slower-than"], 10, 64); err == nil {
		s.ThresholdUS = &v
		if v < 0 {
			x.risk("slow log", "CONFIG SET slowlog-log-slower-than 10000 notes what takes 10 ms and more", "the slow log is switched off")
		}
	}
	var recent []redis.SlowLog
	for _, e := range entries {
		if x.r.At.Sub(e.Time) <= recently {
			recent = append(recent, e)
		}
	}
	s.Recent = len(recent)
	slowest := func(a, b redis.SlowLog) int { return cmp.Compare(b.Duration, a.Duration) }
	slices.SortStableFunc(entries, slowest)
	slices.SortStableFunc(recent, slowest)
	for _, e := range entries[:min(shownSlow, len(entries))] {
		s.Slowest = append(s.Slowest, Slow{
			At: e.Time.UTC(), TookMS: float64(e.Duration.Microseconds()) / 1000, Command: commandOf(e.Args), Client: e.ClientAddr, Name: e.ClientName,
		})
	}
	if len(recent) > 0 {
		x.judgeSlow(recent[0], len(recent))
	}
}

// judgeSlow says what the slowest command of the last hour means for locks.
func (x *exam) judgeSlow(worst redis.SlowLog, n int) {
	const hint = "while a command runs no other does: renewals and releases wait, and a call that waits for one may outlive its TTL"
	if x.TTL > 0 && worst.Duration >= x.TTL/3 {
		x.problem("slow log", hint, "%s took %s in the last hour, a third of the locks' TTL or more: renewals come too late behind it",
			commandOf(worst.Args), worst.Duration.Round(time.Millisecond))
		return
	}
	x.risk("slow log", hint, "%d slow commands in the last hour; the slowest, %s, took %s", n, commandOf(worst.Args), worst.Duration.Round(time.Microsecond))
}

// shownName bounds a name that is shown.
const shownName = 80

// commandOf is a command's name and its first key. Of scripts the keys stand
// behind their number.
func commandOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := strings.ToUpper(args[0])
	shown := 2
	text := name
	switch {
	case name == "AUTH" || name == "HELLO" || name == "CONFIG" || name == "ACL" || name == "MIGRATE":
		shown = 1
	case (name == "EVAL" || name == "EVALSHA" || name == "FCALL") && len(args) > 3:
		text += " (script) " + cut(args[3])
		shown = 4
	case (name == "EVAL" || name == "EVALSHA" || name == "FCALL") && len(args) > 1:
		text += " (script)"
		shown = len(args)
	case len(args) > 1:
		text += " " + cut(args[1])
	}
	if rest := len(args) - min(shown, len(args)); rest > 0 {
		text += fmt.Sprintf(" (%d more)", rest)
	}
	return text
}

func cut(s string) string {
	if len(s) <= shownName {
		return s
	}
	return strings.ToValidUTF8(s[:shownName], "") + "..."
}
