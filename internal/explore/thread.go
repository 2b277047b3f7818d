package explore

import "slices"

// thread is a buyer's conversation with one server: what it has seen there, and
// whether it goes round in a circle. With one server there is only one thread, and
// the purchase's steps belong to it. With several masters each has its own, and so
// have the steps: which master has answered first doesn't count. A lock on several
// masters asks all of them and goes by how many say yes.
type thread struct {
	view   view // what the buyer has seen, in its own words
	trail  []fold
	circle circle
}

// stepsThread is that of the purchase's steps, where masters have their own.
const stepsThread = MaxMasters

// threadOf is the thread of a message.
func (b *buyer) threadOf(p *pending) *thread {
	switch {
	case b.w.c.Masters == 0 || b.w.inOrder:
		return &b.threads[0]
	case p.kind != ofCommand:
		return &b.threads[stepsThread]
	}
	return &b.threads[p.server]
}

// seen is the digest of all that b has seen. Which master is which doesn't count.
func (b *buyer) seen() view {
	if b.w.c.Masters == 0 || b.w.inOrder {
		return b.threads[0].view
	}
	v := b.threads[stepsThread].view
	for i := range b.w.servers {
		v = v.plus(b.threads[i].view)
	}
	return v
}

// forgetAll makes b's threads as at the start.
func (b *buyer) forgetAll() {
	for i := range b.threads {
		b.threads[i] = thread{view: newView()}
	}
}

// startAfresh makes b ask anew, as it may have a reason for that which it didn't have
// before. Called with w.mu held.
func (b *buyer) startAfresh() {
	for i := range b.threads {
		b.threads[i].trail, b.threads[i].circle = nil, circle{}
	}
	for _, p := range b.pend {
		if p.kind != ofPause {
			p.folded, p.onWay = false, false
		}
	}
}

func (b *buyer) circling() bool {
	return slices.ContainsFunc(b.threads[:], func(t thread) bool { return len(t.circle.shapes) > 0 })
}

func (b *buyer) trailing() bool {
	return slices.ContainsFunc(b.threads[:], func(t thread) bool { return len(t.trail) > 0 })
}
