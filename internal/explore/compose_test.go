package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buyer that has given up on a command doesn't hear its reply. But when that has made
// a server know a script, what the buyer was refused before says nothing any more.
func TestWhatIsGivenUpOnMayBringAScript(t *testing.T) {
	g := Config{}.graph(Case{Buyers: 2, Preemptions: 2})
	o := outline{many: 1}
	o.pend[0] = isCommand | isOrphan
	g.composer.commons.add(view{1, 1}, common{})
	g.composer.commons.add(view{2, 2}, common{content: contents{all: 7}})
	g.composer.buyers.add(view{1, 1}, o)
	k := moveKey{common: 0, buyer: 0, ev: makeEvent(deliver, 1, 0)}
	unheard := g.hearing(k, answer{common: 0, reply: 1}, footprint{})
	require.Equal(t, unheard, g.hearing(k, answer{common: 1, reply: 2}, footprint{}), "nor does anything else count")
	require.NotEqual(t, unheard, g.hearing(k, answer{common: 0, reply: 1}, footprint{news: scripts}))
}
