package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/history"
)

// eachProtocol runs a test with go-redis speaking RESP2 and RESP3.
func eachProtocol(t *testing.T, test func(t *testing.T, c *redis.Client, seen *recorder)) {
	eachServer(t, func(t *testing.T, up Upstream) {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprintf("resp%d", protocol), func(t *testing.T) {
				seen := &recorder{}
				c := newClient(t, newTestWire(t, seen.handle), 1, up, protocol)
				require.NoError(t, c.FlushAll(testContext(t)).Err())
				test(t, c, seen)
			})
		}
	})
}

func TestCommandsAndReplies(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		require.Equal(t, int64(1), c.Do(ctx, "setnx", "k", "owner").Val())
		require.Equal(t, int64(0), c.Do(ctx, "setnx", "k", "other").Val())
		require.ErrorIs(t, c.Get(ctx, "absent").Err(), redis.Nil)
		require.NoError(t, c.HSet(ctx, "h", "a", "1", "b", "2").Err())
		require.Equal(t, map[string]string{"a": "1", "b": "2"}, c.HGetAll(ctx, "h").Val())
		require.ErrorContains(t, c.LPush(ctx, "k", "x").Err(), "WRONGTYPE")

		asked, answered := seen.named(OnCommand, "SETNX"), seen.named(OnReply, "SETNX")
		require.Len(t, asked, 2)
		require.Len(t, answered, 2)
		first := answered[0]
		assert.Equal(t, []string{"setnx", "k", "owner"}, first.Args)
		assert.Equal(t, "k", first.Key)
		assert.Equal(t, "owner", first.Value)
		assert.Equal(t, Acquire, first.Role)
		assert.Equal(t, 1, first.Instance)
		assert.Equal(t, "redis", first.Server)
		assert.Equal(t, Reply{Type: ':', Text: "1", Size: 4}, first.Reply)
		assert.True(t, first.Reply.Granted())
		assert.False(t, answered[1].Reply.Granted())
		assert.LessOrEqual(t, first.Parsed, first.Forwarded)
		assert.LessOrEqual(t, first.Forwarded, first.Answered)
		assert.Less(t, first.Seq, answered[1].Seq)
		assert.True(t, seen.named(OnReply, "GET")[0].Reply.Nil)
		assert.True(t, seen.named(OnReply, "LPUSH")[0].Reply.Err)
	})
}

func TestPipelineKeepsItsOrder(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		const n = 500
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range n {
				p.Set(ctx, fmt.Sprint("k", i), i, 0)
				p.Get(ctx, fmt.Sprint("k", i))
			}
			return nil
		})
		require.NoError(t, err)
		for i := range n {
			require.Equal(t, fmt.Sprint(i), cmds[2*i+1].(*redis.StringCmd).Val())
		}
		answered := seen.named(OnReply, "GET")
		require.Len(t, answered, n)
		for i, x := range answered {
			require.Equal(t, fmt.Sprint("k", i), x.Key)
			require.Equal(t, fmt.Sprint(i), x.Reply.Text)
		}
	})
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		require.NoError(t, c.Set(ctx, "k", "owner", 0).Err())
		release := func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.Del(ctx, "k")
				return nil
			})
			return err
		}
		require.NoError(t, c.Watch(ctx, release, "k"))
		require.ErrorIs(t, c.Watch(ctx, func(tx *redis.Tx) error {
			require.NoError(t, c.Set(ctx, "k", "other", 0).Err())
			return release(tx)
		}, "k"), redis.TxFailedErr)

		for _, x := range seen.named(OnReply, "DEL") {
			assert.Equal(t, Other, x.Role, "a queued command has no role")
			assert.False(t, x.Reply.Granted())
		}
		execs := seen.named(OnReply, "EXEC")
		require.Len(t, execs, 2)
		assert.Equal(t, Release, execs[0].Role)
		assert.Equal(t, "k", execs[0].Key)
		assert.True(t, execs[0].Reply.Granted())
		assert.False(t, execs[1].Reply.Granted())
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	release := redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		require.NoError(t, c.ScriptFlush(ctx).Err())
		require.NoError(t, c.Set(ctx, "k", "owner", 0).Err())
		require.Equal(t, int64(0), release.Run(ctx, c, []string{"k"}, "other").Val())
		require.Equal(t, int64(1), release.Run(ctx, c, []string{"k"}, "owner").Val())

		require.Len(t, seen.named(OnReply, "EVAL"), 1, "the server doesn't know the script yet")
		known := seen.named(OnReply, "EVALSHA")
		require.Len(t, known, 2)
		last := known[1]
		assert.Equal(t, Release, last.Role)
		assert.Equal(t, "k", last.Key)
		assert.Equal(t, "owner", last.Value)
		assert.True(t, last.Reply.Granted())
	})
}

func TestPubSub(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		sub := c.Subscribe(ctx, "a", "b")
		defer sub.Close()
		for range 2 {
			_, err := sub.Receive(ctx)
			require.NoError(t, err)
		}
		require.NoError(t, sub.PSubscribe(ctx, "p*"))
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		for i, channel := range []string{"a", "b", "px"} {
			require.NoError(t, c.Publish(ctx, channel, fmt.Sprint(i)).Err())
			m, err := sub.ReceiveMessage(ctx)
			require.NoError(t, err)
			require.Equal(t, channel, m.Channel)
			require.Equal(t, fmt.Sprint(i), m.Payload)
		}
		require.NoError(t, sub.Ping(ctx))
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		require.NoError(t, sub.Unsubscribe(ctx))
		for range 2 {
			_, err := sub.Receive(ctx)
			require.NoError(t, err)
		}
		assert.Len(t, seen.named(OnReply, "SUBSCRIBE"), 1)
		assert.Len(t, seen.named(OnReply, "PSUBSCRIBE"), 1)
		assert.Len(t, seen.named(OnReply, "UNSUBSCRIBE"), 1)
		assert.Len(t, seen.named(OnReply, "PUBLISH"), 3)
	})
}

func TestBlockingCommandLetsOthersPass(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, c *redis.Client, seen *recorder) {
		ctx := testContext(t)
		popped := make(chan []string, 1)
		go func() { popped <- c.BLPop(ctx, patience, "list").Val() }()
		eventually(t, "BLPOP is on its way", func() bool { return len(seen.named(OnCommand, "BLPOP")) == 1 })
		require.NoError(t, c.RPush(ctx, "list", "x").Err())
		require.Equal(t, []string{"list", "x"}, receive(t, "BLPOP", popped))
		assert.Equal(t, "list", seen.named(OnReply, "BLPOP")[0].Key)
	})
}

func TestLargePayloads(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, up Upstream) {
		seen := &recorder{}
		c := newClient(t, newTestWire(t, seen.handle), 1, up, 3)
		ctx := testContext(t)
		big := strings.Repeat("0123456789abcdef", 512<<10)
		require.NoError(t, c.Set(ctx, "big", big, 0).Err())
		require.Equal(t, big, c.Get(ctx, "big").Val())
		reply := seen.named(OnReply, "GET")[0].Reply
		assert.Equal(t, len(big)+len("$8388608\r\n\r\n"), reply.Size)
		assert.LessOrEqual(t, len(reply.Text), maxText+3)
	})
}

func TestManyPollingConnections(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, up Upstream) {
		ctx := testContext(t)
		w := newTestWire(t)
		addr, err := w.Listen(1, "redis", up)
		require.NoError(t, err)
		c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 200, MaxRetries: -1,
			DialTimeout: patience, ReadTimeout: patience, PoolTimeout: patience})
		defer c.Close()
		won := make(chan int, 200*10)
		var g errgroup.Group
		for buyer := range 200 {
			g.Go(func() error {
				for range 10 {
					ok, err := c.SetNX(ctx, "lock", buyer, 0).Result()
					if err != nil {
						return err
					}
					if ok {
						won <- buyer
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		require.Len(t, won, 1)
	})
}

func TestDialWithoutSocket(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, up Upstream) {
		w := newTestWire(t)
		c := redis.NewClient(&redis.Options{Addr: "redis", MaxRetries: -1, ReadTimeout: patience, WriteTimeout: patience,
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return w.Dial(ctx, 2, "redis", up) }})
		t.Cleanup(func() { c.Close() })
		ctx := testContext(t)
		require.NoError(t, c.Set(ctx, "k", strings.Repeat("v", 10_000), 0).Err())
		const n = 1000 // 10 MB of replies that nobody reads while commands are written
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range n {
				p.Get(ctx, "k")
			}
			return nil
		})
		require.NoError(t, err)
		require.Len(t, cmds, n)
	})
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	down := func(context.Context) (net.Conn, error) { return nil, refused }
	w := newTestWire(t)

	_, err := w.Dial(testContext(t), 3, "redis", down)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "connect instance 3 to redis")

	addr, err := w.Listen(3, "redis", down)
	require.NoError(t, err)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	newTestConn(t, c).expectEnd()

	again, err := w.Listen(3, "redis", startMiniredis(t))
	require.NoError(t, err)
	require.Equal(t, addr, again, "the port stays the same")
	c, err = net.Dial("tcp", addr)
	require.NoError(t, err)
	back := newTestConn(t, c)
	back.send("*1\r\n$4\r\nPING\r\n")
	back.expect("+PONG\r\n")
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	w := New(history.Since(history.Monotonic()), func(ctx context.Context, _ Point, _ *Exchange) Action {
		entered <- struct{}{}
		<-ctx.Done()
		return Pass
	})
	f := newFakeServer(t)
	client, _ := dialPair(t, w, 1, f)
	client.send("PING\r\n")
	receive(t, "the handler", entered)
	piped, err := w.Dial(testContext(t), 2, "redis", f.up)
	require.NoError(t, err)
	local := newTestConn(t, piped)
	hanging := make(chan error, 1)
	go func() {
		_, err := w.Dial(context.Background(), 3, "redis", func(ctx context.Context) (net.Conn, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		hanging <- err
	}()
	receive(t, "the dial", entered)

	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	client.expectEnd()
	local.expectEnd()
	require.ErrorIs(t, receive(t, "the dial's end", hanging), context.Canceled)
	_, err = w.Listen(1, "redis", f.up)
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = w.Dial(testContext(t), 1, "redis", f.up)
	require.ErrorIs(t, err, net.ErrClosed)
}
