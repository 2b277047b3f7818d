package explore

import "slices"

// What counts of how a schedule has ended is how many have bought, how many
// haven't and why, what is left, and what the servers hold. Who is who doesn't
// count.

// remains are the keys that servers hold.
type remains struct {
	many uint8 // tooMany when there are more than are kept
	keys [3]remaining
}

const tooMany = 255

// remaining is a key, with its type, and whether it has an expiry.
type remaining struct {
	key   uint64
	owner uint8
}

// remains outlines what servers hold.
func (w *world) remains() (r remains) {
	for i := range w.states {
		st := &w.states[i]
		for _, e := range st.entries {
			if int(r.many) == len(r.keys) {
				return remains{many: tooMany}
			}
			r.keys[r.many] = remaining{newView().word(e.Key).word(e.Type).flag(e.TTL > 0).A, uint8(st.owner[e.Key])}
			r.many++
		}
	}
	return r
}

// turned is the same with buyers exchanged.
func (r remains) turned(as turn) remains {
	for i := range r.keys {
		r.keys[i].owner = uint8(as.of(int(r.keys[i].owner)))
	}
	return r
}

// final is what counts of an end.
func (s *scene) final(bad outcome) view {
	fate := func(n uint8) uint64 {
		if n == 0 {
			return 0
		}
		b := &s.buyers[n-1]
		return 1 + uint64(b.bought)<<8 | uint64(b.is&(isDone|isCrashed|isHeldUp))
	}
	var fates []uint64
	for i := range s.buyers {
		fates = append(fates, fate(uint8(i+1)))
	}
	slices.Sort(fates)
	v := newView().number(uint64(bad)).number(uint64(s.units)).number(uint64(s.remains.many))
	for _, f := range fates {
		v = v.number(f)
	}
	if s.remains.many != tooMany {
		for _, r := range s.remains.keys[:s.remains.many] {
			v = v.plus(newView().number(r.key).number(fate(r.owner))) // which server holds what doesn't count
		}
	}
	return v
}
