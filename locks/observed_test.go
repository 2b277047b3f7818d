package locks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/redistest"
	"github.com/oversell/oversell/locks"
	"github.com/oversell/oversell/locks/lockstest"
	"github.com/oversell/oversell/locks/safe"
)

// scripted is a locker that answers as it is told.
type scripted struct {
	acquire  error
	release  []error // one after the other
	lost     chan struct{}
	renewals int
	closed   bool
}

func (s *scripted) Acquire(context.Context, string, time.Duration) (locks.Lease, error) {
	if s.acquire != nil {
		return nil, s.acquire
	}
	return &scriptedLease{s}, nil
}

func (s *scripted) Close() error {
	s.closed = true
	return errors.New("closing failed")
}

type scriptedLease struct{ *scripted }

func (l *scriptedLease) Lost() <-chan struct{} { return l.lost }
func (l *scriptedLease) Renewals() int         { return l.renewals }
func (l *scriptedLease) Release(context.Context) error {
	err := l.release[0]
	l.release = l.release[1:]
	return err
}

// heard keeps what it hears.
type heard struct {
	mu           sync.Mutex
	acquisitions []locks.Acquisition
	holds        []locks.Hold
}

func (h *heard) Acquired(_ context.Context, a locks.Acquisition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acquisitions = append(h.acquisitions, a)
}

func (h *heard) Released(_ context.Context, o locks.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = append(h.holds, o)
}

func TestObservedTellsAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		inner := &scripted{release: []error{nil}, renewals: 2, lost: make(chan struct{})}
		l := locks.Observed(inner, h)
		lease, err := l.Acquire(t.Context(), "key", 2*time.Second)
		require.NoError(t, err)
		require.Equal(t, (<-chan struct{})(inner.lost), lease.Lost(), "Lost is the lock's own")
		time.Sleep(3 * time.Second)
		require.NoError(t, lease.Release(t.Context()))
		require.Equal(t, []locks.Acquisition{{Key: "key", TTL: 2 * time.Second}}, h.acquisitions)
		require.Equal(t, []locks.Hold{{Key: "key", TTL: 2 * time.Second, Held: 3 * time.Second, Renewed: 2}}, h.holds)
		require.InDelta(t, 1.5, h.holds[0].Ratio(), 1e-9)
		require.EqualError(t, l.Close(), "closing failed")
		require.True(t, inner.closed)
	})
}

func TestObservedTellsErrorsApart(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("acquire: %w", err) }
	for _, c := range []struct {
		err  error
		want locks.Outcome
	}{
		{nil, locks.OutcomeAcquired},
		{wrapped(locks.ErrNotAcquired), locks.OutcomeNotAcquired},
		{io.EOF, locks.OutcomeUnknown},
		{context.DeadlineExceeded, locks.OutcomeUnknown},
	} {
		h := &heard{}
		_, err := locks.Observed(&scripted{acquire: c.err}, h).Acquire(t.Context(), "key", time.Second)
		require.Equal(t, c.err, err, "the error is the lock's own")
		require.Equal(t, c.want, h.acquisitions[0].Outcome())
	}
	for _, c := range []struct {
		err  error
		want locks.Outcome
	}{
		{nil, locks.OutcomeReleased},
		{wrapped(locks.ErrNotHeld), locks.OutcomeNotHeld},
		{wrapped(locks.ErrUntold), locks.OutcomeUntold},
		{io.EOF, locks.OutcomeUnknown},
	} {
		h := &heard{}
		lease, err := locks.Observed(&scripted{release: []error{c.err}}, h).Acquire(t.Context(), "key", time.Second)
		require.NoError(t, err)
		require.Equal(t, c.err, lease.Release(t.Context()))
		require.Equal(t, c.want, h.holds[0].Outcome())
	}
}

// A deferred Release after one that worked says "not held": that is no loss.
func TestObservedTellsNoReleaseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		inner := &scripted{release: []error{io.EOF, nil, locks.ErrNotHeld}}
		lease, err := locks.Observed(inner, h).Acquire(t.Context(), "key", 4*time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.ErrorIs(t, lease.Release(t.Context()), io.EOF)
		time.Sleep(time.Second)
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
		require.Len(t, h.holds, 2)
		assert.Equal(t, locks.OutcomeUnknown, h.holds[0].Outcome())
		assert.False(t, h.holds[0].Again)
		assert.Equal(t, locks.OutcomeReleased, h.holds[1].Outcome())
		assert.True(t, h.holds[1].Again)
		assert.Equal(t, time.Second, h.holds[1].Held, "until the first Release")
	})
}

func TestObservedTellsALoss(t *testing.T) {
	h := &heard{}
	inner := &scripted{release: []error{locks.ErrNotHeld}, lost: make(chan struct{})}
	lease, err := locks.Observed(inner, h).Acquire(t.Context(), "key", time.Second)
	require.NoError(t, err)
	close(inner.lost)
	<-lease.Lost()
	require.ErrorIs(t, lease.Release(t.Context()), locks.ErrNotHeld)
	require.True(t, h.holds[0].Lost)
}

// plainLease tells nothing of renewals.
type plainLease struct{ locks.Lease }

type plain struct{ *scripted }

func (p plain) Acquire(ctx context.Context, key string, ttl time.Duration) (locks.Lease, error) {
	l, err := p.scripted.Acquire(ctx, key, ttl)
	return plainLease{l}, err
}

func TestObservedDoesntInventRenewals(t *testing.T) {
	h := &heard{}
	lease, err := locks.Observed(plain{&scripted{release: []error{nil}}}, h).Acquire(t.Context(), "key", time.Second)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	require.Equal(t, -1, h.holds[0].Renewed)
}

func TestLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		hold := func(s *scripted, key string, d time.Duration) {
			lease, err := locks.Observed(s, locks.Log(log)).Acquire(t.Context(), key, 3*time.Second)
			if err == nil {
				time.Sleep(d)
				_ = lease.Release(t.Context())
			}
		}
		hold(&scripted{release: []error{nil}, renewals: 1}, "stock:1", 1500*time.Millisecond)
		hold(&scripted{release: []error{nil}}, "stock:1", 2400*time.Millisecond)
		hold(&scripted{release: []error{locks.ErrNotHeld}}, "a b\n", time.Second)
		hold(&scripted{acquire: locks.ErrNotAcquired}, "stock:2", 0)
		hold(&scripted{acquire: io.EOF}, "stock:2", 0)
		hold(&scripted{release: []error{io.EOF}}, "stock:3", time.Second)
		require.Equal(t, strings.TrimLeft(`
level=INFO msg="lock acquire" key=stock:1 outcome=acquired waited=0s ttl=3s
level=INFO msg="lock release" key=stock:1 outcome=released held=1.5s ttl=3s ratio=0.5 renewed=1 lost=false
level=INFO msg="lock acquire" key=stock:1 outcome=acquired waited=0s ttl=3s
level=WARN msg="lock release" key=stock:1 outcome=released held=2.4s ttl=3s ratio=0.8 renewed=0 lost=false
level=INFO msg="lock acquire" key="a b\n" outcome=acquired waited=0s ttl=3s
level=ERROR msg="lock release" key="a b\n" outcome=not_held held=1s ttl=3s ratio=0.333 renewed=0 lost=false error="locks: not held"
level=INFO msg="lock acquire" key=stock:2 outcome=not_acquired waited=0s ttl=3s error="locks: not acquired"
level=WARN msg="lock acquire" key=stock:2 outcome=unknown waited=0s ttl=3s error=EOF
level=INFO msg="lock acquire" key=stock:3 outcome=acquired waited=0s ttl=3s
level=WARN msg="lock release" key=stock:3 outcome=unknown held=1s ttl=3s ratio=0.333 renewed=0 lost=false error=EOF
`, "\n"), out.String())
	})
}

// observedKind is k with an observer on every locker.
func observedKind(k locks.Kind, by ...locks.Observer) locks.Kind {
	inner := k.New
	k.New = func(ctx context.Context, c locks.Clients, opts locks.Options) (locks.Locker, error) {
		l, err := inner(ctx, c, opts)
		if err != nil {
			return nil, err
		}
		return locks.Observed(l, by...), nil
	}
	return k
}

func TestObservedKeepsTheContract(t *testing.T) {
	t.Parallel()
	log := locks.Log(slog.New(slog.NewJSONHandler(io.Discard, nil)))
	for _, k := range safe.All() {
		switch k.Name {
		case "lua-release", "lua-watchdog", "redlock-watchdog":
			t.Run(k.Name, func(t *testing.T) {
				t.Parallel()
				lockstest.Safe(t, observedKind(k, log, &heard{}), lockstest.Bubble)
			})
		}
	}
}

// Renewals of a real lock, and many buyers at once.
func TestObservedOnALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		var lines lockedBuffer
		k := observedKind(kind(t, "lua-watchdog"), h, locks.Log(slog.New(slog.NewJSONHandler(&lines, nil))))
		l, err := k.New(t.Context(), locks.Clients{Shape: cluster.Single, Redis: redistest.Mini(t).Client(t, nil)}, locks.Options{})
		require.NoError(t, err)
		var buyers sync.WaitGroup
		for range 20 {
			buyers.Go(func() {
				lease, err := l.Acquire(t.Context(), "key", 3*time.Second)
				if assert.NoError(t, err) {
					time.Sleep(3500 * time.Millisecond)
					assert.NoError(t, lease.Release(t.Context()))
				}
			})
		}
		buyers.Wait()
		require.NoError(t, l.Close())
		require.Len(t, h.acquisitions, 20)
		require.Len(t, h.holds, 20)
		for _, held := range h.holds {
			require.Equal(t, 3, held.Renewed, "every third of the TTL")
			require.Greater(t, held.Ratio(), 1.0)
		}
		dec := json.NewDecoder(&lines)
		for range 40 {
			var line map[string]any
			require.NoError(t, dec.Decode(&line))
			require.Equal(t, "key", line["key"])
		}
		require.False(t, dec.More())
	})
}

func kind(t *testing.T, name string) locks.Kind {
	for _, k := range safe.All() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no %s", name)
	return locks.Kind{}
}

// lockedBuffer is a buffer that several goroutines can write to.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}
