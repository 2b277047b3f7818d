package lockstest

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/internal/redistest"
)

// replying answers the first n commands with err instead of sending them.
func replying(n int, err error) redis.Hook {
	var answered atomic.Int32
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if answered.Add(1) <= int32(n) {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	})
}

// losingReplies lets the first n commands through and loses their replies.
func losingReplies(n int) redis.Hook {
	var commands atomic.Int32
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		mine := commands.Add(1) <= int32(n)
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			commands.Add(-1)
			return err
		}
		if mine {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	})
}

// line is a connection that a test can break.
type line struct {
	broken atomic.Bool  // every command fails
	fail   atomic.Int32 // as many commands as this fail
}

func (l *line) hook() redis.Hook {
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if l.broken.Load() || l.fail.Load() > 0 && l.fail.Add(-1) >= 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	})
}

// tap counts commands on their replies. EVALSHA and the EVAL that follows when
// a server doesn't know the script count as one.
type tap struct {
	mu    sync.Mutex
	names []string
	nth   map[int]chan struct{}
}

// hook returns the hook by which t listens.
func (p *tap) hook() redis.Hook {
	return redistest.Hook(func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.names = append(p.names, cmd.Name())
		if c := p.nth[len(p.names)]; c != nil {
			close(c)
		}
		return err
	})
}

// seen are the names of the commands that were answered.
func (p *tap) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.names...)
}

// after is closed when n commands were answered. Ask before the first is sent.
func (p *tap) after(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nth == nil {
		p.nth = map[int]chan struct{}{}
	}
	p.nth[n] = make(chan struct{})
	return p.nth[n]
}
