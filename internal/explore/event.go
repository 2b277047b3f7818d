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
	restart              // the server loses everything
	evict                // the server evicts a key
)

var actNames = [...]string{"deliver", "return", "time", "crash", "delay", "expiry", "lose-reply", "lose-command", "failover-1", "failover-2", "restart", "evict"}

func (a act) String() string { return actNames[a] }

// hazardOf is the index of the hazard whose budget an act uses, or -1.
var hazardOf = [...]int{-1, -1, -1, hCrash, hDelay, hExpiry, hLostReply, hLostSend, hFailover, hFailover, hRestart, hEviction}

// event is one choice: what, whose, and which of the buyer's pending messages.
// In one state every event that can happen has a value of its own, and the
// same event keeps its value while others happen.
type event uint32

func makeEvent(a act, buyer, index int) event {
	return event(uint32(a)<<16 | uint32(buyer)<<8 | uint32(index))
}

func (e event) act() act   { return act(e >> 16) }
func (e event) buyer() int { return int(e >> 8 & 0xff) } // 0 for none
func (e event) index() int { return int(e & 0xff) }

func (e event) String() string {
	switch {
	case e.buyer() == 0:
		return e.act().String()
	case e.act() == deliver || e.act() == giveBack || e.act() == loseReply || e.act() == loseSend:
		return fmt.Sprintf("%s %d.%d", e.act(), e.buyer(), e.index())
	}
	return fmt.Sprintf("%s %d", e.act(), e.buyer())
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

// keyBit is a key's bit; several keys may share one.
func keyBit(server int, key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h ^= uint64(server) * 0x9e3779b97f4a7c15
	return 1 << (h % 63)
}
