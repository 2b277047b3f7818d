package explore

// turn says who takes whose part when buyers are exchanged: it is the index of
// one of the orders in which two or three buyers can stand. More of them aren't
// exchanged.
type turn uint8

// asItIs exchanges nobody.
const asItIs turn = 0

// maxTurned is the highest number of buyers for which there are turns.
const maxTurned = 3

var turns = [...][maxTurned + 1]uint8{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}}

// turnsOf are the turns of so many buyers.
func turnsOf(buyers int) []turn {
	all := [...]turn{0, 1, 2, 3, 4, 5}
	switch buyers {
	case 2:
		return all[:2]
	case 3:
		return all[:]
	}
	return all[:1]
}

// then holds, for each two turns, the one that comes to the first and then the
// second; back holds what undoes a turn.
var then, back = func() (then [len(turns)][len(turns)]turn, back [len(turns)]turn) {
	for a, first := range turns {
		for b, second := range turns {
			var both [maxTurned + 1]uint8
			for n := range both {
				both[n] = second[first[n]]
			}
			for c, t := range turns {
				if t == both {
					then[a][b] = turn(c)
				}
			}
			if both == turns[asItIs] {
				back[a] = turn(b)
			}
		}
	}
	return then, back
}()

// of is who stands in for a buyer; 0, which is nobody, stays.
func (t turn) of(n int) int {
	if n > maxTurned {
		return n
	}
	return int(turns[t][n])
}

// event is an event of whoever stands in for its buyer.
func (t turn) event(e event) event {
	if t == asItIs {
		return e
	}
	return makeEvent(e.act(), t.of(e.buyer()), e.index())
}

func (t turn) then(next turn) turn { return then[t][next] }

func (t turn) back() turn { return back[t] }
