package explore

// view is a digest of all that a buyer has seen: its code is deterministic, so
// two buyers of the same view are in the same state. It is also used for the
// state of a whole world.
type view struct{ A, B uint64 }

func newView() view { return view{14695981039346656037, 0x9ae16a3b2f90404f} }

// word adds a word.
func (v view) word(s string) view {
	a, b := v.A, v.B
	for i := 0; i < len(s); i++ {
		a = (a ^ uint64(s[i])) * 1099511628211
		b = (b ^ uint64(s[i])) * 0x9e3779b97f4a7c15
		b ^= b >> 29
	}
	return view{(a ^ 0xff) * 1099511628211, (b ^ 0x1ff) * 0x9e3779b97f4a7c15}
}

// number adds a number.
func (v view) number(n uint64) view {
	a := (v.A ^ n) * 1099511628211
	a ^= a >> 32
	a *= 0xd6e8feb86659fd93
	b := (v.B ^ n ^ 0x5555) * 0x9e3779b97f4a7c15
	b ^= b >> 29
	b *= 0xbf58476d1ce4e5b9
	return view{a ^ a>>31, b ^ b>>27}
}

func (v view) flag(f bool) view {
	if f {
		return v.number(1)
	}
	return v.number(2)
}

func (v view) also(o view) view { return v.number(o.A).number(o.B) }

// plus adds one of several digests whose order doesn't count.
func (v view) plus(o view) view {
	o = newView().also(o)
	return view{v.A + o.A, v.B + o.B}
}

func (v view) less(o view) bool { return v.A < o.A || v.A == o.A && v.B < o.B }
