package explore

import "fmt"

// act is what the scheduler can do next.
type act uint8

const (
	deliver   act = iota // a command reaches the server, and its reply the buyer
	giveBack             // a business call returns
	pass                 // time passes, up to the next timer or expiry
	crash                // a buyer's process dies
	delay                // a buyer's messages are held up while time passes
	expire               // the TTL passes, whatever is on its way
	loseReply            // a command is executed and its reply lost
	loseSend             // a command is lost
	failover1            // a replica without the newest write takes over
	failover2            // ... without the newest two
	restart              // a server loses everything
	evict                // a server evicts a key
)

var actNames = [...]string{"deliver", "return", "time", "crash", "delay", "expiry", "lose-reply", "lose-command", "failover-1", "failover-2", "restart", "evict"}

func (a act) String() string { return actNames[a] }

// takesTime reports whether time passes with it.
func (a act) takesTime() bool { return a == pass || a == delay || a == expire }

// hazardOf is the index of the hazard whose budget an act uses, or -1.
var hazardOf = [...]int{-1, -1, -1, hCrash, hDelay, hExpiry, hLostReply, hLostSend, hFailover, hFailover, hRestart, hEviction}

// event is one choice: what, whose, and which of the buyer's pending messages.
// Of several masters it also says which: the message is one of those on their way
// to it. In one state every event that can happen has a value of its own, and the
// same event keeps its value while others happen.
type event uint32

func makeEvent(a act, buyer, index int) event {
	return event(uint32(a)<<16 | uint32(buyer)<<12 | uint32(index))
}

// at is the event at one of several masters, numbered from 0.
func (e event) at(master int) event { return e&^0xf00 | event(master+1)<<8 }

// of is the same event of another buyer.
func (e event) of(buyer int) event { return e&^0xf000 | event(buyer)<<12 }

func (e event) act() act    { return act(e >> 16) }
func (e event) buyer() int  { return int(e >> 12 & 0xf) } // 0 for none
func (e event) master() int { return int(e >> 8 & 0xf) }  // from 1; 0 for none, or the only server
func (e event) index() int  { return int(e & 0xff) }

// server is where it happens.
func (e event) server() int { return max(0, e.master()-1) }

func (e event) String() string {
	text := e.act().String()
	if e.buyer() > 0 {
		text = fmt.Sprintf("%s %d", text, e.buyer())
		if e.act() == deliver || e.act() == giveBack || e.act() == loseReply || e.act() == loseSend {
			text = fmt.Sprintf("%s.%d", text, e.index())
		}
	}
	if e.master() > 0 {
		text = fmt.Sprintf("%s@%d", text, e.master())
	}
	return text
}

// position is where the message of an event stands in a list of a buyer's, of which
// master says on the way to which of several masters each is, 0 for none. It is -1
// when there is no such message.
func (e event) position(many int, master func(i int) int) int {
	at := 0
	for e.master() > 0 && at < many && master(at) != e.master() {
		at++
	}
	if at += e.index(); at >= many || master(at) != e.master() {
		return -1
	}
	return at
}

func independent(a, b event, fa, fb footprint) bool {
	if a.buyer() == 0 || b.buyer() == 0 || a.buyer() == b.buyer() || fa.global || fb.global {
		return false
	}
	if fa.wrote && fb.wrote && fa.keys&everyKey != 0 && fb.keys&everyKey != 0 {
		return false // a failover would bring back what was there before the later one
	}
	if fa.hazard >= 0 && fa.hazard == fb.hazard {
		return false // they share a budget
	}
	return fa.keys&fb.keys == 0 || !fa.wrote && !fb.wrote
}

const (
	inventoryBit = 1 << 63
	everyKey     = ^uint64(inventoryBit)
)

// laneBits is how many bits the keys of each of several masters have.
const laneBits = 12

// keyBit is a key's bit; several keys may share one. server is a master, if there
// are several, or -1.
func keyBit(server int, key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	if server >= 0 {
		return 1 << (uint64(server)*laneBits + h%laneBits)
	}
	return 1 << (h % 63)
}

// turned is the same footprint with masters exchanged, but for where it leads.
func (f footprint) turned(as turn) footprint {
	if turns[as].servers == turns[asItIs].servers {
		return f
	}
	const (
		lane  = 1<<laneBits - 1
		lanes = 1<<(maxTurned*laneBits) - 1
		news  = changed * (1<<maxTurned - 1)
	)
	to := f
	to.keys, to.news = f.keys&^lanes, f.news&^news
	for i := range maxTurned {
		to.keys |= f.keys >> (i * laneBits) & lane << (as.server(i) * laneBits)
		to.news |= f.news >> i & changed << as.server(i)
	}
	return to
}
