package explore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/wire"
)

// Real is what playing a schedule on a real server has come to.
type Real struct {
	Server    string
	Confirmed bool
	Why       string   // not
	Lines     []string // what was played
}

// Verdict is the one line that counts.
func (r *Real) Verdict() string {
	if r.Confirmed {
		return "confirmed on " + r.Server
	}
	return "only in the model, because " + r.Why
}

// ReplayReal plays a schedule on the only server of cl. Each command of a buyer
// is held on the wire until it is its turn; the TTL passes in real time. The
// inventory is in this process. An error means that the server can't be reached.
func ReplayReal(ctx context.Context, c Case, s Schedule, cl *cluster.Cluster) (*Real, error) {
	c = c.withDefaults()
	r := &Real{Server: cl.Server}
	for _, st := range s.Steps {
		if ev, err := parseEvent(st.Pick); err != nil {
			return nil, err
		} else if ev.act() == failover1 || ev.act() == failover2 {
			r.Why = "it needs a failover, and one server has been started"
			return r, nil
		}
	}
	p := newPlayer(ctx, c, cl.Nodes[0])
	defer p.close()
	if err := p.admin.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("reach the server: %w", err)
	}
	if err := p.warm(ctx, c.Buyers); err != nil {
		return nil, err
	}
	p.begin()
	for i, st := range s.Steps {
		line, err := p.step(ctx, st)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			r.Why = fmt.Sprintf("step %d (%s) couldn't be played: %v", i+1, st.Pick, err)
			return r, nil
		}
		r.Lines = append(r.Lines, fmt.Sprintf("%2d  %s", i+1, line))
	}
	r.Confirmed, r.Why = p.judge(ctx, s.Property)
	return r, nil
}

// player plays one schedule on one server.
type player struct {
	c      Case
	node   cluster.Node
	admin  *redis.Client
	wire   *wire.Wire
	table  *desk
	cancel context.CancelFunc
	ctx    context.Context
}

func newPlayer(ctx context.Context, c Case, node cluster.Node) *player {
	p := &player{c: c, node: node, table: newDesk(c)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.admin = redis.NewClient(&redis.Options{
		Addr:            addrOf(0),
		Dialer:          func(ctx context.Context, _, _ string) (net.Conn, error) { return node.Dial(ctx) },
		DisableIdentity: true,
	})
	p.wire = wire.New(history.Since(0), p.table.handle)
	return p
}

func (p *player) close() {
	p.cancel()
	p.table.open()
	_ = p.wire.Close()
	p.table.wait()
	_ = p.admin.Close()
}

// await polls until ok, as long as a step may take.
func (p *player) await(ctx context.Context, what string, ok func() bool) error {
	deadline := time.Now().Add(3*p.c.TTL + 5*time.Second)
	for !ok() {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("%s; what waits instead: %s", what, p.table.describe())
		}
		p.table.sleep(ctx, 5*time.Millisecond)
	}
	return nil
}

// step plays one step, and says what it did.
func (p *player) step(ctx context.Context, st Step) (string, error) {
	ev, err := parseEvent(st.Pick)
	if err != nil {
		return "", err
	}
	who := letter(ev.buyer())
	switch ev.act() {
	case deliver, loseReply, loseSend:
		if st.Command == hears { // as soon as the server says it
			return who + ": hears of a change", nil
		}
		return p.message(ctx, ev, st)
	case giveBack:
		return who + ": call returns", p.release(ctx, ev.buyer(), "call", wire.Pass)
	case crash:
		p.table.crash(ev.buyer())
		return who + ": says nothing any more", nil
	case evict:
		return "the key is deleted, as an eviction would", p.admin.Del(ctx, p.c.key()).Err()
	case restart:
		return "the server is emptied, as a restart without data would", errors.Join(p.admin.FlushAll(ctx).Err(), p.admin.ScriptFlush(ctx).Err())
	}
	if !st.Expires {
		return "time passes", nil
	}
	return p.expire(ctx)
}

func (p *player) message(ctx context.Context, ev event, st Step) (string, error) {
	action := map[act]wire.Action{deliver: wire.Pass, loseReply: loseTheReply, loseSend: wire.Cut}[ev.act()]
	if err := p.release(ctx, ev.buyer(), st.Command, action); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", letter(ev.buyer()), p.table.lastSaid(ev.buyer())), nil
}

// release lets a message of a buyer go, and waits until it has been answered.
func (p *player) release(ctx context.Context, buyer int, command string, action wire.Action) error {
	var m *message
	err := p.await(ctx, fmt.Sprintf("%s hasn't come to %s", letter(buyer), command), func() bool {
		m = p.table.take(buyer, command)
		return m != nil
	})
	if err != nil {
		return err
	}
	m.release <- action
	return p.await(ctx, fmt.Sprintf("%s's %s wasn't answered", letter(buyer), command), func() bool { return p.table.answered(m) })
}

// expire waits until the key has expired by itself. Meanwhile those who ask
// again in vain may do so, until shortly before.
func (p *player) expire(ctx context.Context) (string, error) {
	began := time.Now()
	margin := p.c.TTL / 20
	err := p.await(ctx, "the key hasn't expired", func() bool {
		left, err := p.admin.PTTL(ctx, p.c.key()).Result()
		if err != nil {
			return false
		}
		if left == -2 {
			return true
		}
		if left > margin {
			p.table.refuseAgain()
		}
		return false
	})
	return fmt.Sprintf("%s pass, and the key expires", time.Since(began).Round(10*time.Millisecond)), err
}

// judge looks whether the property is broken on the real server too.
func (p *player) judge(ctx context.Context, prop Property) (bool, string) {
	switch prop {
	case Oversold:
		n := p.table.orders()
		return n > p.c.Stock, fmt.Sprintf("there are %d orders for a stock of %d", n, p.c.Stock)
	case Mismatch:
		n, units := p.table.orders(), p.table.units()
		return n+units != p.c.Stock, fmt.Sprintf("%d orders and %d left make a stock of %d", n, units, p.c.Stock)
	case ForeignRelease:
		return p.table.foreign(), "no buyer removed a key that was another's"
	}
	return p.stalls(ctx)
}

// stalls lets everybody who waits ask for two TTLs.
func (p *player) stalls(ctx context.Context) (bool, string) {
	before := p.table.orders()
	for until := time.Now().Add(2 * p.c.TTL); time.Now().Before(until) && ctx.Err() == nil; {
		p.table.letAllGo()
		p.table.sleep(ctx, 5*time.Millisecond)
	}
	switch {
	case p.table.orders() != before:
		return false, "somebody could buy after all"
	case p.table.units() == 0:
		return false, "nothing was left to buy"
	case !p.table.anybodyWaits():
		return false, "nobody waits"
	}
	return true, ""
}

// describeMessages lists what waits.
func describeMessages(ms []*message) string {
	var words []string
	for _, m := range ms {
		words = append(words, letter(m.buyer)+" "+m.command)
	}
	if len(words) == 0 {
		return "nothing"
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
