package instance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/locks"
)

// OpenStore opens the inventory, with enough connections for that many buyers.
// dial reaches the announced address of one that is behind the wire.
type OpenStore func(ctx context.Context, at Inventory, dial Dialer, buyers int) (inventory.Store, error)

// World is what a worker can be asked to use.
type World struct {
	Kinds []locks.Kind
	Open  OpenStore
}

// Main is an instance process: it talks to the engine on in and out until it
// is told to stop or in ends, which it does when the engine is gone.
func Main(ctx context.Context, in io.Reader, out io.Writer, world World) error {
	return serve(ctx, in, out, world, nil)
}

// worker is the near end of the protocol.
type worker struct {
	world World
	dial  Dialer // nil: through the ports of start

	outMu sync.Mutex
	out   *bufio.Writer
	enc   *json.Encoder

	clock history.Clock

	cancel atomic.Pointer[func()] // ends the purchases under way

	callMu sync.Mutex
	calls  map[string]chan struct{} // business calls that haven't returned, by purchase
}

func serve(ctx context.Context, in io.Reader, out io.Writer, world World, dial Dialer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &worker{world: world, dial: dial, out: bufio.NewWriter(out), calls: map[string]chan struct{}{}}
	w.enc = json.NewEncoder(w.out)
	w.send(message{Type: msgHello, PID: os.Getpid()})

	messages := make(chan message)
	go func() {
		defer cancel() // the engine is gone, or told us to stop
		w.read(ctx, in, messages)
	}()
	first, ok := <-messages
	if !ok || first.Type != msgStart || first.Start == nil {
		return errors.New("instance: expected a start message first")
	}
	err := w.work(ctx, *first.Start, messages)
	if err != nil {
		w.send(message{Type: msgFailed, Err: err.Error(), Hint: hint.Of(err)})
	}
	return err
}

// read passes on start and go, and answers calls, until stop or the end of in.
func (w *worker) read(ctx context.Context, in io.Reader, messages chan<- message) {
	defer close(messages)
	dec := json.NewDecoder(bufio.NewReader(in))
	for {
		var m message
		if dec.Decode(&m) != nil || m.Type == msgStop {
			return
		}
		switch m.Type {
		case msgReturn:
			w.returned(m.Purchase)
			continue
		case msgCancel:
			if cancel := w.cancel.Load(); cancel != nil {
				(*cancel)()
			}
			continue
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// work opens the clients, waits for go and lets the buyers buy.
func (w *worker) work(ctx context.Context, s Start, messages <-chan message) error {
	w.clock = history.Since(s.Epoch)
	shop, closeShop, err := w.open(ctx, s)
	defer closeShop()
	if err != nil {
		return fmt.Errorf("instance %d: %w", s.Instance, err)
	}
	stopHeartbeat := history.Heartbeat(s.StallOver, func(stood time.Duration) {
		w.record(history.Event{Kind: history.MachineStalled, Instance: s.Instance, Took: stood})
	})
	defer stopHeartbeat()
	w.send(message{Type: msgReady})
	if m, ok := <-messages; !ok || m.Type != msgGo {
		return nil // stopped before the load began
	}
	cancel := shop.Cancel
	w.cancel.Store(&cancel)
	var buyers errgroup.Group
	for i, wants := range s.Wants {
		rng := rand.New(rand.NewPCG(uint64(s.Seed), uint64(s.Instance)<<32|uint64(i)))
		buyers.Go(func() error {
			shop.Buy(ctx, i+1, wants, rng)
			return nil
		})
	}
	_ = buyers.Wait() // buyers report what happens as events
	if ctx.Err() == nil {
		w.send(message{Type: msgDone})
	}
	<-ctx.Done()
	return nil
}

// open makes the shop. closeShop is never nil.
func (w *worker) open(ctx context.Context, s Start) (shop *Shop, closeShop func(), err error) {
	dial := w.dial
	if dial == nil {
		dial = portDialer(s)
	}
	var closers []func()
	closeShop = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	clients := newClients(s, dial)
	closers = append(closers, func() { closeClients(clients) })
	if err := ping(ctx, clients); err != nil {
		return nil, closeShop, err
	}
	store, err := w.world.Open(ctx, s.Inventory, dial, len(s.Wants))
	if err != nil {
		return nil, closeShop, fmt.Errorf("open the inventory: %w", err)
	}
	closers = append(closers, func() { _ = store.Close() })
	kind, err := findKind(w.world.Kinds, s.Lock)
	if err != nil {
		return nil, closeShop, err
	}
	locker, err := kind.New(ctx, clients, locks.Options{RetryEvery: s.RetryEvery})
	if err != nil {
		return nil, closeShop, fmt.Errorf("make the lock %s: %w", s.Lock, err)
	}
	closers = append(closers, func() { _ = locker.Close() })
	return &Shop{
		Instance: s.Instance, Locker: locker, Store: store,
		Key: s.Key, SKU: s.SKU, TTL: s.TTL, Fence: s.Fence, Retry: s.RetryEvery,
		Record: w.record, Call: w.call, AskCommit: s.AskCommit,
	}, closeShop, nil
}

func findKind(kinds []locks.Kind, name string) (locks.Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return locks.Kind{}, fmt.Errorf("no lock kind is called %q", name)
}

// send writes one message. An engine that doesn't read any more has gone, and
// the end of our input says so.
func (w *worker) send(m message) {
	w.outMu.Lock()
	defer w.outMu.Unlock()
	if w.enc.Encode(m) == nil {
		_ = w.out.Flush()
	}
}

func (w *worker) record(e history.Event) {
	if e.At == 0 {
		e.At = w.clock()
	}
	w.send(message{Type: msgEvent, Event: &e})
}

// call hands the business call to the engine and waits for its return.
func (w *worker) call(ctx context.Context, c Call) error {
	back := make(chan struct{})
	w.callMu.Lock()
	w.calls[c.Purchase] = back
	w.callMu.Unlock()
	w.send(message{Type: msgCall, Purchase: c.Purchase, Buyer: c.Buyer, Token: c.Token, Units: c.Units, Commit: c.Commit})
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		w.returned(c.Purchase)
		return ctx.Err()
	}
}

func (w *worker) returned(purchase string) {
	w.callMu.Lock()
	defer w.callMu.Unlock()
	if back, ok := w.calls[purchase]; ok {
		delete(w.calls, purchase)
		close(back)
	}
}
