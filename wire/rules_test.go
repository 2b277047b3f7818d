package wire

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// handle asks rules about one exchange that nothing holds.
func (rs *Rules) handle(p Point, x Exchange) Action {
	return rs.Handle(context.Background(), p, &x)
}

func TestMatchFields(t *testing.T) {
	t.Parallel()
	x := Exchange{Instance: 1, Server: "redis", Name: "SET", Key: "k", Role: Acquire, Value: "me", Reply: Reply{Type: '+', Text: "OK"}}
	for name, tt := range map[string]struct {
		match Match
		point Point
		want  Action
	}{
		"everything":     {Match{}, OnCommand, Cut},
		"other point":    {Match{}, OnReply, Pass},
		"asked point":    {Match{Point: OnReply}, OnReply, Cut},
		"instance":       {Match{Instance: 1}, OnCommand, Cut},
		"other instance": {Match{Instance: 2}, OnCommand, Pass},
		"server":         {Match{Server: "redis"}, OnCommand, Cut},
		"other server":   {Match{Server: "sentinel-1"}, OnCommand, Pass},
		"command":        {Match{Command: "SET"}, OnCommand, Cut},
		"other command":  {Match{Command: "GET"}, OnCommand, Pass},
		"key":            {Match{Key: "k"}, OnCommand, Cut},
		"other key":      {Match{Key: "l"}, OnCommand, Pass},
		"role":           {Match{Role: Acquire}, OnCommand, Cut},
		"other role":     {Match{Role: Release}, OnCommand, Pass},
		"granted":        {Match{Granted: true}, OnReply, Cut},
		"granted before": {Match{Granted: true}, OnCommand, Pass},
		"where":          {Match{Where: func(x *Exchange) bool { return x.Value == "me" }}, OnCommand, Cut},
		"not where":      {Match{Where: func(x *Exchange) bool { return x.Value != "me" }}, OnCommand, Pass},
	} {
		var rules Rules
		r := rules.Add(tt.match, Cut)
		assert.Equal(t, tt.want, rules.handle(tt.point, x), name)
		assert.Equal(t, tt.want == Cut, r.Count() == 1, name)
	}
	var rules Rules
	rules.Add(Match{Granted: true}, Cut)
	x.Reply = Reply{Type: ':', Text: "0"}
	assert.Equal(t, Pass, rules.handle(OnReply, x))
}

func TestNthAndTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		nth, times int
		want       string
	}{
		{0, 0, "x....."}, {1, 1, "x....."}, {3, 0, "..x..."}, {2, 3, ".xxx.."}, {0, Always, "xxxxxx"}, {4, Always, "...xxx"},
	} {
		var rules Rules
		rules.Add(Match{Nth: tt.nth, Times: tt.times}, Duplicate)
		got := ""
		for range 6 {
			got += map[Action]string{Pass: ".", Duplicate: "x"}[rules.handle(OnCommand, Exchange{})]
		}
		assert.Equal(t, tt.want, got, "%d %d", tt.nth, tt.times)
	}
}

func TestRulesInOrder(t *testing.T) {
	t.Parallel()
	var rules Rules
	assert.Equal(t, Pass, rules.handle(OnCommand, Exchange{}), "no rules")
	var hooked []string
	hook := func(_ context.Context, x *Exchange) { hooked = append(hooked, x.Key) }
	rules.Add(Match{Times: Always}, Hook(hook))
	cut := rules.Add(Match{Times: Always}, Cut)
	last := rules.Add(Match{Times: Always}, DropRequest)
	assert.Equal(t, Cut, rules.handle(OnCommand, Exchange{Key: "a"}))
	assert.Zero(t, last.Count())
	cut.Remove()
	cut.Remove()
	assert.Equal(t, Drop, rules.handle(OnCommand, Exchange{Key: "b"}))
	assert.Equal(t, []string{"a", "b"}, hooked)
	assert.Equal(t, 1, cut.Count())
	rules.Add(Match{}, DropReply)
	assert.Equal(t, Drop, rules.handle(OnReply, Exchange{}))
}

func TestFiredNeverBlocks(t *testing.T) {
	t.Parallel()
	var rules Rules
	r := rules.Add(Match{Times: Always}, Duplicate)
	for i := range 3 * firedBuffer {
		rules.handle(OnCommand, Exchange{Seq: int64(i)})
	}
	assert.Equal(t, 3*firedBuffer, r.Count())
	for i := range firedBuffer {
		assert.Equal(t, int64(i), (<-r.Fired()).Seq)
	}
	assert.Empty(t, r.Fired())
}

func TestHoldEndsByReleaseRemoveAndContext(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *Rule, cancel func()){
		"release": func(r *Rule, _ func()) { r.Release() },
		"remove":  func(r *Rule, _ func()) { r.Remove() },
		"context": func(_ *Rule, cancel func()) { cancel() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var rules Rules
			r := rules.Add(Match{Times: Always}, Hold())
			var done atomic.Int32
			for range 3 {
				go func() {
					assert.Equal(t, Pass, rules.Handle(ctx, OnCommand, &Exchange{}))
					done.Add(1)
				}()
			}
			synctest.Wait()
			require.Equal(t, 3, r.Count(), name)
			require.Zero(t, done.Load())
			end(r, cancel)
			synctest.Wait()
			require.Equal(t, int32(3), done.Load(), name)
		})
	}
}

func TestReleaseHoldsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rules Rules
		r := rules.Add(Match{Times: 2}, Hold())
		passed := 0
		ask := func() {
			rules.handle(OnCommand, Exchange{})
			passed++
		}
		r.Release() // nothing is held yet: it must not count for later
		for held := range 2 {
			go ask()
			synctest.Wait()
			require.Equal(t, held, passed)
			r.Release()
			synctest.Wait()
			require.Equal(t, held+1, passed)
		}
		ask()
		require.Equal(t, 2, r.Count(), "the third isn't held")
	})
}

func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rules Rules
		r := rules.Add(Match{Times: Always}, Delay(time.Second))
		start := time.Now()
		require.Equal(t, Pass, rules.handle(OnCommand, Exchange{}))
		require.Equal(t, time.Second, time.Since(start))
		time.AfterFunc(time.Millisecond, r.Release)
		require.Equal(t, Pass, rules.handle(OnCommand, Exchange{}))
		require.Equal(t, time.Second+time.Millisecond, time.Since(start))
	})
}

// TestRaceByTwoHolds is what the wire is for: two commands reach the server in
// the order in which they are released, not in which they were sent.
func TestRaceByTwoHolds(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, up Upstream) {
		var rules Rules
		first := rules.Add(Match{Instance: 1, Role: Release}, Hold())
		second := rules.Add(Match{Instance: 2, Role: Acquire, Key: "lock"}, Hold())
		w := newTestWire(t, rules.Handle)
		a, b := newClient(t, w, 1, up, 2), newClient(t, w, 2, up, 3)
		ctx := testContext(t)
		require.NoError(t, a.Set(ctx, "lock", "a", 0).Err())

		deleted, acquired := make(chan int64, 1), make(chan bool, 1)
		go func() { deleted <- a.Del(ctx, "lock").Val() }()
		receive(t, "the held DEL", first.Fired())
		go func() { acquired <- b.SetNX(ctx, "lock", "b", time.Minute).Val() }()
		x := receive(t, "the held SET NX", second.Fired())
		assert.Equal(t, "b", x.Value)
		second.Release()
		assert.False(t, receive(t, "SET NX", acquired), "the key is still a's")
		first.Release()
		assert.Equal(t, int64(1), receive(t, "DEL", deleted))
	})
}

// TestLostReply executes a command and loses its reply: the key is taken, and
// the client doesn't know.
func TestLostReply(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, up Upstream) {
		var rules Rules
		lost := rules.Add(Match{Role: Acquire, Granted: true}, DropReply)
		w := newTestWire(t, rules.Handle)
		c := newClient(t, w, 1, up, 3)
		acquire, cancel := context.WithCancel(testContext(t))
		result := make(chan error, 1)
		go func() { result <- c.SetNX(acquire, "lock", "me", 0).Err() }()
		receive(t, "the reply", lost.Fired())
		w.Disconnect(1, "redis")
		require.Error(t, receive(t, "the client's error", result))
		cancel()
		require.Equal(t, "me", c.Get(testContext(t), "lock").Val())
	})
}
