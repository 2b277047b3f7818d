package explore

// turn says who takes whose part when buyers are exchanged, and which server
// another's: it is an index of the exchanges below. Two or three buyers are
// exchanged, and three servers.
type turn uint8

// asItIs exchanges nobody.
const asItIs turn = 0

// maxTurned is the highest number of buyers, and of servers, for which there are turns.
const maxTurned = 3

// exchange is what a turn does, from 1 for buyers and from 0 for servers.
type exchange struct {
	buyers  [maxTurned + 1]uint8
	servers [maxTurned]uint8
}

// The first are those of buyers alone.
var turns = func() (all [allTurns]exchange) {
	buyers := [buyerTurns][maxTurned + 1]uint8{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}}
	servers := [...][maxTurned]uint8{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for i := range all {
		all[i] = exchange{buyers[i%buyerTurns], servers[i/buyerTurns]}
	}
	return all
}()

const (
	buyerTurns = 6
	allTurns   = 6 * buyerTurns
)

// turnsOf are the turns of so many buyers, and masters if there are any.
func turnsOf(buyers, masters int) []turn {
	var of []turn
	for t := range turn(turnsWith(masters)) {
		switch n := t % buyerTurns; {
		case buyers == 3, buyers == 2 && n < 2, t == asItIs:
			of = append(of, t)
		}
	}
	return of
}

// turnsWith is beyond the highest turn with so many masters.
func turnsWith(masters int) int {
	if masters == maxTurned {
		return allTurns
	}
	return buyerTurns
}

// then holds, for each two turns, the one that comes to the first and then the
// second; back holds what undoes a turn.
var then, back = func() (then [len(turns)][len(turns)]turn, back [len(turns)]turn) {
	for a, first := range turns {
		for b, second := range turns {
			var both exchange
			for n := range both.buyers {
				both.buyers[n] = second.buyers[first.buyers[n]]
			}
			for n := range both.servers {
				both.servers[n] = second.servers[first.servers[n]]
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
	return int(turns[t].buyers[n])
}

// server is which one stands in for a server.
func (t turn) server(i int) int {
	if i >= maxTurned {
		return i
	}
	return int(turns[t].servers[i])
}

// event is an event of whoever stands in for its buyer and its server.
func (t turn) event(e event) event {
	if t == asItIs {
		return e
	}
	to := e.of(t.of(e.buyer()))
	if e.master() > 0 {
		to = to.at(t.server(e.server()))
	}
	return to
}

func (t turn) then(next turn) turn { return then[t][next] }

func (t turn) back() turn { return back[t] }
