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
	"github.com/oversell/oversell/cluster/redisnode"
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

// ReplayReal plays a schedule on the only server of cl, or on as many of its masters as
// the schedule has. Each command of a buyer
// is held on the wire until it is its turn; the TTL passes in real time. The
// inventory is in this process. An error means that the server can't be reached.
func ReplayReal(ctx context.Context, c Case, s Schedule, cl *cluster.Cluster) (*Real, error) {
	c = c.WithDefaults()
	r := &Real{Server: cl.Server}
	if n := max(1, c.Masters); len(cl.Nodes) < n {
		r.Why = fmt.Sprintf("it needs %d masters, and there are %d", n, len(cl.Nodes))
		return r, nil
	}
	for _, st := range s.Steps {
		if ev, err := parseEvent(st.Pick); err != nil {
			return nil, err
		} else if ev.act() == failover1 || ev.act() == failover2 {
			r.Why = "it needs a failover, and servers without replicas have been started"
			return r, nil
		}
	}
	p := newPlayer(ctx, c, cl.Nodes[:max(1, c.Masters)])
	defer p.close()
	for _, s := range p.servers {
		if err := s.admin.Ping(ctx).Err(); err != nil {
			return nil, fmt.Errorf("reach the server: %w", err)
		}
	}
	if why, err := p.lacks(ctx); why != "" || err != nil {
		r.Why = why
		return r, err
	}
	if why, err := p.warm(ctx, c.Buyers); why != "" || err != nil {
		r.Why = why
		return r, err
	}
	p.begin()
	var at time.Duration
	for i, st := range s.Steps {
		line, err := p.step(ctx, st, st.At-at, s.Steps[i+1:])
		at = st.At
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

// player plays one schedule.
type player struct {
	c       Case
	servers []realServer // one, or several masters
	wire    *wire.Wire
	table   *desk
	cancel  context.CancelFunc
	ctx     context.Context
}

type realServer struct {
	node  cluster.Node
	admin *redis.Client
}

func newPlayer(ctx context.Context, c Case, nodes []cluster.Node) *player {
	p := &player{c: c, table: newDesk(c)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	for i, node := range nodes {
		p.servers = append(p.servers, realServer{node, redis.NewClient(&redis.Options{
			Addr:            addrOf(i),
			Dialer:          func(ctx context.Context, _, _ string) (net.Conn, error) { return node.Dial(ctx) },
			DisableIdentity: true,
		})})
	}
	p.wire = wire.New(history.Since(0), p.table.handle)
	return p
}

func (p *player) close() {
	p.cancel()
	p.table.open()
	_ = p.wire.Close()
	p.table.wait()
	for _, s := range p.servers {
		_ = s.admin.Close()
	}
}

// lacks says what the lock needs and a server hasn't got; "" for nothing.
func (p *player) lacks(ctx context.Context) (string, error) {
	for _, s := range p.servers {
		for _, needs := range p.c.Kind.Needs {
			why, err := redisnode.Lacks(ctx, s.node, needs)
			if err != nil {
				return "", err
			}
			if why != "" {
				return fmt.Sprintf("the lock needs %s, and the server says %q", needs, why), nil
			}
		}
	}
	return "", nil
}

// patience is how long a step may take, and a purchase while nothing is in its way.
func (p *player) patience() time.Duration { return 3*p.c.TTL + 5*time.Second }

// await polls until ok, as long as a step may take.
func (p *player) await(ctx context.Context, what string, ok func() bool) error {
	deadline := time.Now().Add(p.patience())
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

// step plays one step, which has taken some time on the schedule's clock, before others,
// and says what it did.
func (p *player) step(ctx context.Context, st Step, took time.Duration, before []Step) (string, error) {
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
		return who + ": call returns", p.release(ctx, place{buyer: ev.buyer()}, st, wire.Pass)
	case crash:
		p.table.crash(ev.buyer())
		return who + ": says nothing any more", nil
	case evict:
		return "the key is deleted, as an eviction would" + p.where(ev), p.servers[ev.server()].admin.Del(ctx, p.c.key()).Err()
	case restart:
		admin := p.servers[ev.server()].admin
		return "the server is emptied, as a restart without data would" + p.where(ev), errors.Join(admin.FlushAll(ctx).Err(), admin.ScriptFlush(ctx).Err())
	}
	expired := p.expiring(st)
	if len(expired) == 0 {
		return p.wait(ctx, min(took, patience*p.c.TTL), p.wanted(before))
	}
	return p.expire(ctx, expired, p.wanted(before))
}

// wanted is what the first command of each buyer is at each server in some steps.
func (p *player) wanted(of []Step) map[place]string {
	first := map[place]string{}
	for _, st := range of {
		ev, err := parseEvent(st.Pick)
		if err != nil || !onServer(st.Command) || ev.buyer() == 0 {
			continue
		}
		if at := p.placeOf(ev, st.Command); first[at] == "" {
			first[at] = st.Command
		}
	}
	return first
}

// where says on which of several masters something happens.
func (p *player) where(ev event) string {
	if ev.master() == 0 {
		return ""
	}
	return fmt.Sprintf(", on master %d", ev.master())
}

// expiring are the servers whose key expires in a step.
func (p *player) expiring(st Step) (servers []realServer) {
	switch {
	case p.c.Masters == 0 && st.Expires:
		return p.servers
	case p.c.Masters > 0:
		for _, m := range st.Expired {
			if m >= 1 && m <= len(p.servers) {
				servers = append(servers, p.servers[m-1])
			}
		}
	}
	return servers
}

func (p *player) message(ctx context.Context, ev event, st Step) (string, error) {
	action := map[act]wire.Action{deliver: wire.Pass, loseReply: loseTheReply, loseSend: wire.Cut}[ev.act()]
	at := p.placeOf(ev, st.Command)
	if err := p.release(ctx, at, st, action); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s%s", letter(ev.buyer()), p.table.lastSaid(ev.buyer()), p.where(ev)), nil
}

// placeOf is where a command is, or a step of the purchase.
func (p *player) placeOf(ev event, command string) place {
	at := place{buyer: ev.buyer()}
	if onServer(command) {
		at.server = p.servers[ev.server()].node.Name()
	}
	return at
}

// onServer reports whether a step's command is one, and not a step of the purchase,
// which is written small.
func onServer(command string) bool { return command == strings.ToUpper(command) }

// release lets a message of a buyer go, and waits until it has been answered.
func (p *player) release(ctx context.Context, at place, st Step, action wire.Action) error {
	buyer, command := at.buyer, st.Command
	hasnt := "hasn't come to"
	if st.Unheard {
		hasnt = "hasn't given up on"
	}
	var m *message
	err := p.await(ctx, fmt.Sprintf("%s %s %s", letter(buyer), hasnt, command), func() bool {
		m = p.table.take(at, command, st.Unheard)
		return m != nil
	})
	if err != nil {
		return err
	}
	m.whole = !strings.Contains(st.Text, noScript)
	m.release <- action
	return p.await(ctx, fmt.Sprintf("%s's %s wasn't answered", letter(buyer), command), func() bool { return p.table.answered(m) })
}

// wait lets time pass in which no key expires. As in expire, those who ask again in vain
// may do so meanwhile; and shortly afterwards, as it may be their own clock that counts.
func (p *player) wait(ctx context.Context, long time.Duration, wanted map[place]string) (string, error) {
	began := time.Now()
	margin := p.c.TTL / 20
	err := p.await(ctx, "time hasn't passed", func() bool {
		gone := time.Since(began)
		if gone < long-3*margin {
			p.table.refuseAgain(nil)
		} else {
			p.table.refuseAgain(wanted)
		}
		return gone >= long+margin
	})
	return fmt.Sprintf("%s pass", time.Since(began).Round(10*time.Millisecond)), err
}

// expire waits until the key has expired by itself. Meanwhile those who ask again in
// vain may do so, until shortly before, and those of whom a command is wanted then until
// they have come to it.
func (p *player) expire(ctx context.Context, on []realServer, wanted map[place]string) (string, error) {
	began := time.Now()
	margin := p.c.TTL / 20
	err := p.await(ctx, "the key hasn't expired", func() bool {
		gone, least := true, p.c.TTL
		for _, s := range on {
			left, err := s.admin.PTTL(ctx, p.c.key()).Result()
			if err != nil {
				return false
			}
			gone = gone && left == -2
			least = min(least, left)
		}
		switch {
		case least > 3*margin:
			p.table.refuseAgain(nil)
		case least > margin:
			p.table.refuseAgain(wanted)
		}
		return gone
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
