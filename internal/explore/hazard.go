package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oversell/oversell/result"
)

// Hazard is one way in which the explored world may misbehave.
type Hazard string

// The hazards. Without any of them commands are delivered in every order, and
// no time passes but the pauses of those who wait.
const (
	SlowCall  Hazard = "slow-call"
	Crash     Hazard = "crash"
	Delay     Hazard = "delay"
	Expiry    Hazard = "expiry"
	LostReply Hazard = "lost-reply"
	LostSend  Hazard = "lost-command"
	Failover  Hazard = "failover"
	Restart   Hazard = "restart"
	Eviction  Hazard = "eviction"
)

// HazardInfo describes a hazard.
type HazardInfo struct {
	Hazard  Hazard
	Summary string
	Budget  int           // how often it may strike in one schedule, unless told
	Same    result.Hazard // the word that lock kinds use for it, "" for none
}

// Hazards lists every hazard.
func Hazards() []HazardInfo {
	return []HazardInfo{
		{SlowCall, "a business call outlives the TTL; commands, renewals too, arrive in time", 1, result.SlowCall},
		{Crash, "a buyer's process dies, at any point", 1, result.HolderCrash},
		{Delay, "what one buyer sends is held up past the TTL, by the network or a pause of its process", 1, ""},
		{Expiry, "the TTL passes at any point, whatever is on its way", 1, ""},
		{LostReply, "a command is executed and its reply lost, with the connection", 1, ""},
		{LostSend, "a command is lost before it is executed, with the connection", 1, ""},
		{Failover, "a replica takes over that lacks the newest write, or the newest two", 1, result.LostMaster},
		{Restart, "the server, or one of the masters, restarts empty", 1, ""},
		{Eviction, "the server, or one of the masters, evicts the lock's key", 1, ""},
	}
}

// Budget is how often a hazard may strike in one schedule.
type Budget struct {
	Hazard Hazard `json:"hazard"`
	Times  int    `json:"times"`
}

func (b Budget) String() string { return fmt.Sprintf("%s at most %d", b.Hazard, b.Times) }

// ParseHazards reads words such as "crash" and "expiry=2", and "all" and
// "none". The order of the result is that of Hazards.
func ParseHazards(words []string) ([]Budget, error) {
	times := map[Hazard]int{}
	for _, w := range words {
		name, number, given := strings.Cut(strings.TrimSpace(w), "=")
		n := 0
		if given {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 1 || n > maxBudget {
				return nil, fmt.Errorf("%q: %q is no number from 1 to %d", w, number, maxBudget)
			}
		}
		if name == "none" {
			continue
		}
		known := false
		for _, h := range Hazards() {
			if name != string(h.Hazard) && name != "all" {
				continue
			}
			known = true
			times[h.Hazard] = h.Budget
			if given {
				times[h.Hazard] = n
			}
		}
		if !known {
			return nil, &UnknownHazardError{name}
		}
	}
	budgets := []Budget{}
	for _, h := range Hazards() {
		if n := times[h.Hazard]; n > 0 {
			budgets = append(budgets, Budget{h.Hazard, n})
		}
	}
	return budgets, nil
}

// maxBudget bounds what one schedule may be asked to suffer.
const maxBudget = 9

// UnknownHazardError is returned for a word that is no hazard.
type UnknownHazardError struct{ Name string }

func (e *UnknownHazardError) Error() string { return fmt.Sprintf("no hazard is called %q", e.Name) }

// HazardWords lists the words that ParseHazards knows.
func HazardWords() []string {
	var words []string
	for _, h := range Hazards() {
		words = append(words, string(h.Hazard))
	}
	return append(words, "all", "none")
}

var hazardOrder = func() (order []Hazard) {
	for _, h := range Hazards() {
		order = append(order, h.Hazard)
	}
	return order
}()

func hazardIndex(h Hazard) int { return slices.Index(hazardOrder, h) }

// left is what remains of each budget, by the index of the hazard.
type left [numHazards]int8

const numHazards = 9

const (
	hSlowCall = iota
	hCrash
	hDelay
	hExpiry
	hLostReply
	hLostSend
	hFailover
	hRestart
	hEviction
)

func budgetsLeft(bs []Budget) left {
	var l left
	for _, b := range bs {
		if i := hazardIndex(b.Hazard); i >= 0 {
			l[i] = int8(b.Times)
		}
	}
	return l
}
