package explore

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Counterexample is a schedule that broke a property, and what happened in it.
type Counterexample struct {
	Property Property
	Shortest bool // no shorter schedule breaks it within the case's bounds
	Case     Case
	Steps    []Step
	Tale     []string // what happened, in sentences
	events   []event
}

// Step is one event of a schedule, and what there was after it.
type Step struct {
	Pick   string        `json:"pick"`            // the scheduler's choice
	Buyer  string        `json:"buyer,omitempty"` // "A", "B", ...; "" for what no buyer does
	Text   string        `json:"text"`            // what happened
	Key    string        `json:"key"`             // the lock's key: whose, and how long it lasts
	Stock  int           `json:"stock"`
	Orders int           `json:"orders"`
	At     time.Duration `json:"at"` // on the schedule's clock, in nanoseconds

	// Command is the first word of a command that is delivered, or "begin", "commit",
	// "call" and "ask" for a step of the purchase, and "push" for what a server says
	// unasked.
	Command string `json:"command,omitempty"`
	Unheard bool   `json:"unheard,omitempty"` // the buyer had given up on it before, and so waits for no reply
	Expires bool   `json:"expires,omitempty"` // the key expired meanwhile
	Expired []int  `json:"expired,omitempty"` // on these of several masters, numbered from 1
}

// letter is the name of a buyer.
func letter(n int) string {
	if n <= 0 {
		return "nobody"
	}
	return string(rune('A' + n - 1))
}

// lettered replaces ‹1#2› by A's value, in letters.
func lettered(s string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "‹")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, "›")
		who, nth, numbered := strings.Cut(name, "#")
		n, err := strconv.Atoi(strings.TrimSuffix(who, "?"))
		switch {
		case err != nil || n > MaxBuyers:
			out.WriteString("…")
		case numbered && nth != "1":
			fmt.Fprintf(&out, "%s%s", strings.ToLower(letter(n)), nth)
		default:
			out.WriteString(strings.ToLower(letter(n)))
		}
		s = after
	}
}

// teller turns what was recorded into steps and a tale.
type teller struct {
	w     *world
	c     Case
	tale  []string
	last  keyNow
	began map[int]int // the stock that each buyer has read
	calls map[int]bool
}

func (w *world) tell() (steps []Step, tale []string) {
	t := &teller{w: w, c: w.c, began: map[int]int{}, calls: map[int]bool{}}
	var at time.Duration
	for i := range w.steps {
		s := &w.steps[i]
		at += s.took
		st := Step{Pick: s.ev.String(), Key: t.keyText(s.key), Stock: s.units, Orders: s.orders, At: at.Round(time.Millisecond)}
		if n := s.ev.buyer(); n > 0 {
			st.Buyer = letter(n)
		}
		st.Text = t.text(s)
		switch {
		case s.ev.act() == giveBack:
			st.Command = "call"
		case s.p != nil && s.p.kind == ofCommand:
			st.Command, st.Unheard = strings.ToUpper(s.p.batch[0][0]), s.unheard
		case s.p != nil && s.p.kind == ofPush:
			st.Command = hears
		case s.p != nil:
			st.Command = s.what
		}
		st.Expires = s.ev.buyer() == 0 && s.ev.act() <= expire && t.last.There && !s.key.There || s.ev.act() == delay && t.last.There && !s.key.There
		if s.ev.act().takesTime() {
			for m, was := range t.last.Owners {
				if was > 0 && s.key.Owners[m] == 0 {
					st.Expired = append(st.Expired, m+1)
				}
			}
		}
		steps = append(steps, st)
		t.last = s.key
	}
	return steps, t.tale
}

func (t *teller) keyText(k keyNow) string {
	if k.Owners != nil {
		var text []string
		for _, o := range k.Owners {
			if o == 0 {
				text = append(text, "-")
				continue
			}
			text = append(text, letter(o))
		}
		return strings.Join(text, " ")
	}
	if !k.There {
		return "free"
	}
	who := "nobody's"
	if k.Owner > 0 {
		who = letter(k.Owner) + "'s"
	}
	if k.TTL == 0 {
		return who + ", no expiry"
	}
	return fmt.Sprintf("%s, %s", who, shortDuration(k.TTL))
}

func shortDuration(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

func (t *teller) say(format string, args ...any) {
	t.tale = append(t.tale, fmt.Sprintf(format, args...))
}

// text says in a table's cell what an event was, and adds to the tale.
func (t *teller) text(s *step) string {
	who := letter(s.ev.buyer())
	switch s.ev.act() {
	case deliver, loseReply, loseSend:
		return t.message(s, who)
	case giveBack:
		t.calls[s.ev.buyer()] = false
		return "call returns"
	case pass, expire:
		return t.timePassed(s)
	case delay:
		text := t.timePassed(s)
		t.say("What %s sends is held up.", who)
		return "held up; " + text
	case crash:
		state := ""
		if s.key.There && s.key.Owner == s.ev.buyer() {
			state = ", and leaves the lock behind"
			if s.key.TTL == 0 {
				state += " without an expiry"
			}
		}
		t.say("%s's process dies%s.", who, state)
		return "dies"
	case restart:
		t.say("%s restarts without its data.", capital(server(s.ev)))
		return server(s.ev) + " restarts empty"
	case evict:
		t.say("%s evicts the key.", capital(server(s.ev)))
		return server(s.ev) + " evicts the key"
	}
	of, at := "", ""
	if m := s.ev.master(); m > 0 {
		of, at = fmt.Sprintf(" of master %d", m), fmt.Sprintf(" of master %d", m)
	}
	t.say("A replica%s takes over that doesn't have the newest %s.", of, map[act]string{failover1: "write", failover2: "two writes"}[s.ev.act()])
	return "failover" + at + ", newest " + map[act]string{failover1: "write", failover2: "2 writes"}[s.ev.act()] + " lost"
}

// server is what an event happens to.
func server(ev event) string {
	if m := ev.master(); m > 0 {
		return fmt.Sprintf("master %d", m)
	}
	return "server"
}

// capital is how a sentence begins with it.
func capital(server string) string {
	if server == "server" {
		return "The server"
	}
	return strings.ToUpper(server[:1]) + server[1:]
}

func (t *teller) timePassed(s *step) string {
	if t.last.There && !s.key.There {
		during := ""
		if t.last.Owner > 0 && t.calls[t.last.Owner] {
			during = " while " + letter(t.last.Owner) + " is still in its call"
		}
		t.say("%s passes, and %s's lock expires%s.", shortDuration(s.took), letter(t.last.Owner), during)
		return shortDuration(s.took) + " pass, key expires"
	}
	return shortDuration(s.took) + " pass"
}

// message tells a command or a step of the purchase.
func (t *teller) message(s *step, who string) string {
	switch {
	case s.p == nil || s.ev.act() == loseSend:
		t.say("A command of %s is lost with its connection.", who)
		return "a command is lost"
	case s.p.kind == ofPush:
		t.say("%s hears that the key has changed.", who)
		return "hears of a change"
	case s.p.kind == ofBegin:
		t.began[s.ev.buyer()] = s.units
		t.calls[s.ev.buyer()] = s.units > 0
		t.say("%s reads a stock of %d.", who, s.units)
		return fmt.Sprintf("reads stock: %d", s.units)
	case s.p.kind == ofCommit:
		return t.commit(s, who)
	case s.p.kind == ofPause:
		t.say("%s asks again.", who)
		return "asks again"
	}
	text := lettered(commandText(s.what)) + " → " + lettered(replyText(s.reply))
	if m := s.ev.master(); m > 0 {
		text = fmt.Sprintf("@%d %s", m, text)
	}
	if s.ev.act() == loseReply {
		t.say("The reply to %s's command is lost with its connection.", who)
		text += ", reply lost"
	}
	unaware := ""
	if s.unheard {
		text += ", unheard"
		unaware = " without hearing of it"
	}
	switch {
	case s.foreign > 0:
		t.say("%s frees a lock that is %s's.", who, letter(s.foreign))
		text += ", which was " + letter(s.foreign) + "'s"
	case !t.last.There && s.key.There:
		t.say("%s takes the lock%s.", who, unaware)
	case t.last.There && !s.key.There:
		t.say("%s frees its lock.", who)
	case t.last.There && s.key.There && t.last.Owner != s.key.Owner:
		t.say("%s takes the lock from %s%s.", who, letter(t.last.Owner), unaware)
	}
	return text
}

func (t *teller) commit(s *step, who string) string {
	if s.refused {
		t.say("The inventory refuses %s's write: somebody began after it did.", who)
		return "commit refused"
	}
	more := ""
	if s.orders > t.c.Stock {
		more = fmt.Sprintf(": %d too many", s.orders-t.c.Stock)
	}
	t.say("%s writes a stock of %d and its order. Sold: %d of %d%s.", who, s.units, s.orders, t.c.Stock, more)
	return fmt.Sprintf("writes stock %d, order %d", s.units, s.orders)
}

// commandText shortens a command for a table.
func commandText(shape string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(shape), "\n")
	f := strings.Fields(line)
	if len(f) == 0 {
		return line
	}
	if more != "" {
		return f[0] + " …"
	}
	switch f[0] {
	case "EVALSHA":
		if len(f) > 2 {
			return "EVALSHA … " + strings.Join(f[3:], " ")
		}
	case "EVAL":
		return "EVAL …"
	}
	return strings.Join(f, " ")
}

func replyText(reply string) string {
	r := strings.TrimSpace(reply)
	line, _, _ := strings.Cut(r, "\n")
	switch {
	case line == "$-1" || strings.HasPrefix(line, "_"):
		return "nil"
	case strings.HasPrefix(line, "$"):
		_, line, _ = strings.Cut(r, "\n")
	case strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "-ERR"):
		line, _, _ = strings.Cut(line[1:], " ") // the code says enough
	case line != "" && strings.ContainsRune("+-:(,#", rune(line[0])):
		line = line[1:]
	}
	return strings.TrimSpace(line)
}
