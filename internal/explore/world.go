package explore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/instance"
	"github.com/oversell/oversell/locks"
)

const inventoryServer = 255

// world is one bubble's servers, buyers and clock. They last for many schedules;
// begin makes everything as new. All methods are the scheduler's, which is the
// bubble's first goroutine; buyers come in through conns, stores and calls.
type world struct {
	c       Case
	servers []*embedded.Simulated
	buyers  []*buyer
	scripts []string // that are in the servers' caches at the start of every schedule
	cached  map[string]bool
	learn   bool  // pilot runs: remember what is constant
	fresh   bool  // new clients for every schedule, as the lock leaves goroutines behind
	memo    *memo // nil while learning
	hello   []byte
	scratch []byte                         // for replies that nobody hears
	turns   []turn                         // by which states are compared
	turned  map[uint64]*[len(turns)]uint64 // digests of contents with buyers exchanged
	plain   bool                           // run every script, and remember none
	keep    bool                           // keep what happens, for telling it

	constants map[string]bool
	usual     map[string]string // words that were sent while learning
	learned   map[string]lesson
	flight    int // of the pilot

	drawsValues bool // the lock draws values from the Rand that it is given
	lingers     bool // something of the lock has gone on after its buyer's purchase
	watched     bool // keys have been watched (WATCH)
	forgets     bool // what a buyer has seen who has left doesn't count
	inOrder     bool // which master has answered first counts
	keepsVoid   bool // what does nothing any more is still on its way, and may arrive

	conditionals map[string]bool // forms of commands, by whether they do nothing but where a value is held that they name

	beat *atomic.Int64 // moves on with every event, for the watch

	mu   sync.Mutex
	wake chan struct{}
	// All below is of the current schedule.
	over     bool
	strays   int // commands sent between schedules
	dialled  int // connections so far
	seq      int
	waiting  map[*pending]struct{} // purchases' steps and calls that the schedule's end must free
	tokens   map[string]*token
	shelf    shelf
	start    time.Time
	left     left
	faults   int           // how often hazards may still strike
	slowed   bool          // a call has been slow
	slow     time.Duration // how long calls may still be slow
	late     time.Duration // how long messages may still be late
	states   []serverState
	looked   time.Time           // when states were read
	did      deed                // what the present event has done
	touches  uint64              // keys of the commands that the present event has executed
	cuts     bool                // the present event has cut connections
	stamp    uint64              // when the latest step of time ended, in grains
	passing  bool                // another has begun
	dirty    bool                // the script caches aren't what they were at the start
	last     int                 // who acted last
	touched  [MaxBuyers + 1]bool // who has done or suffered anything
	hops     int                 // preemptions
	waited   bool                // the present event lets time pass, as nothing else could happen
	hopeless bool                // that has brought nothing
	idle     time.Duration       // how long it has brought nothing but renewals
	outcome  outcome
	trouble  error // why the schedule says nothing
	steps    []step
	outline  scene // of the state that was looked at last
	parts    parts // of the state that was digested last
	running  sync.WaitGroup
}

// deed is what else an event has done than its footprint says.
type deed struct {
	commands int    // that servers have executed
	reply    uint64 // digest of what its buyer has heard, in its words; 0 for nothing
}

// step is one event that happened, for telling it.
type step struct {
	ev      event
	p       *pending
	what    string // the command in words, or "" for what is none
	reply   string
	foreign int  // whose key it removed
	refused bool // by the fence
	unheard bool // its buyer had given up on it before
	took    time.Duration
	key     keyNow
	units   int
	orders  int
	hists   []history.Event
}

func newWorld(c Case) (*world, error) {
	w := &world{c: c.WithDefaults(), usual: map[string]string{}, wake: make(chan struct{}, 1), constants: map[string]bool{}, conditionals: map[string]bool{}, cached: map[string]bool{}, turns: turnsOf(1, 0), turned: map[uint64]*[len(turns)]uint64{}}
	for range max(1, c.Masters) {
		s, err := embedded.NewSimulated()
		if err != nil {
			return nil, err
		}
		w.servers = append(w.servers, s)
	}
	for n := 1; n <= c.Buyers; n++ {
		w.buyers = append(w.buyers, w.newBuyer(n))
	}
	w.over = true
	return w, nil
}

func (w *world) close() {
	for _, b := range w.buyers {
		close(b.lives)
		disconnect(b.clients)
	}
	if w.fresh { // what goes on finds its clients closed, sooner or later
		time.Sleep(100 * w.c.TTL)
	}
	for _, s := range w.servers {
		s.Close()
	}
}

func (w *world) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// begin starts a schedule: everything is as new, and every buyer has come to
// its first command.
func (w *world) begin() {
	for _, b := range w.buyers {
		w.hangUp(b)
		b.unwatch()
	}
	awaitWholeSecond()
	w.resetServers()
	if len(w.turned) > maxTurnedContents {
		clear(w.turned)
	}
	w.mu.Lock()
	w.over, w.seq, w.outcome, w.trouble = false, 0, 0, nil
	w.waiting = map[*pending]struct{}{}
	w.tokens = map[string]*token{}
	w.shelf = shelf{units: w.c.Stock}
	w.touched = [MaxBuyers + 1]bool{}
	w.start, w.stamp, w.passing = time.Now(), 0, false
	w.left = budgetsLeft(w.c.Hazards)
	w.slow = time.Duration(w.left[hSlowCall]) * allowance(w.c.TTL)
	w.late = time.Duration(w.left[hDelay]) * allowance(w.c.TTL)
	w.faults, w.slowed = w.c.Faults, false
	if w.faults == 0 {
		w.faults = math.MaxInt16
	}
	w.last, w.hops, w.steps, w.hopeless, w.idle = 0, 0, nil, false, 0
	w.mu.Unlock()
	for _, b := range w.buyers {
		w.beginBuyer(b)
	}
	for i, b := range w.buyers {
		if i == 0 {
			synctest.Wait()
		}
		w.settle(b, 0)
	}
	w.look()
}

// maxTurnedContents bounds the memory for contents of servers in which buyers are exchanged.
const maxTurnedContents = 50_000

// allowance is how much time one slow call or delay may take: enough for the
// TTL to pass, and for a watchdog to notice.
func allowance(ttl time.Duration) time.Duration { return ttl + ttl/3 + ttl/12 }

func (w *world) beginBuyer(b *buyer) {
	if w.fresh {
		disconnect(b.clients)
		b.connect()
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	b.pend, b.events, b.attempt = nil, nil, attempt{}
	b.arrivals, b.fresh, b.tokens, b.silent, b.token, b.sent = 0, 0, 0, 0, 0, 0
	b.starting, b.done, b.crashed, b.held, b.inside, b.pausing, b.left = true, false, false, false, false, false, false
	b.lastErr, b.locker, b.cancel = "", nil, cancel
	b.moments = map[string]uint64{}
	b.forgetAll()
	b.meetNobody()
	w.mu.Unlock()
	w.running.Add(1)
	b.lives <- ctx
}

// run is the goroutine that lives a buyer's life again and again: a new one for
// each schedule would grow its stack anew.
func (w *world) run(b *buyer) {
	for ctx := range b.lives {
		w.live(ctx, b)
	}
}

// live is a buyer's life in one schedule.
func (w *world) live(ctx context.Context, b *buyer) {
	whole := false
	defer w.running.Done()
	defer func() {
		switch p := recover(); {
		case p != nil:
			w.fail(fmt.Errorf("%s panicked: %v\n%s", w.c.Kind.Name, p, debug.Stack()))
		case !whole:
			w.fail(fmt.Errorf("%s ended its buyer's goroutine, as runtime.Goexit and t.FailNow do", w.c.Kind.Name))
			go w.run(b)
		}
		w.leave(b)
	}()
	w.shop(ctx, b)
	whole = true
}

// shop is a buyer's life.
func (w *world) shop(ctx context.Context, b *buyer) {
	l, err := w.c.Kind.New(ctx, b.clients, locks.Options{RetryEvery: retryEvery, Rand: b.rand(saltOfLock)})
	if err != nil {
		w.fail(fmt.Errorf("%s can't be made: %w", w.c.Kind.Name, err))
		return
	}
	w.mu.Lock()
	b.locker, b.starting = l, false
	w.mu.Unlock()
	s := &instance.Shop{
		Instance: b.n, Locker: l, Store: gated{b}, Key: w.c.key(), SKU: sku,
		TTL: w.c.TTL, Fence: w.c.Kind.Fenced, Retry: shopRetry,
		Record: func(e history.Event) { w.record(b, e) },
		Call:   func(ctx context.Context, c instance.Call) error { return w.call(ctx, b) },
	}
	s.Buy(ctx, 1, 1, b.rand(saltOfShop))
}

// leave notes that a buyer's life has ended.
func (w *world) leave(b *buyer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !b.crashed { // what becomes of a process that has died is nobody's concern
		b.done = true
		b.hearRest()
		w.signal()
	}
}

// fail ends the schedule, and the exploration with it.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failNow(err)
}

// failNow is fail, called with w.mu held.
func (w *world) failNow(err error) {
	if w.trouble == nil && !w.over {
		w.trouble = err
	}
}

// These end an exploration that took something for certain that doesn't hold: it
// is begun anew without.
var (
	errLingers = errors.New("explore: something of the lock goes on when the purchase is over")
	errParts   = errors.New("explore: the same event in the same parts of a state came to something else")
	errReuses  = errors.New("explore: an attempt sets a value of one before it")
)

// anew are the errors after which exploring begins anew, otherwise.
var anew = [...]error{errLingers, errParts, errReuses}

// goesOn notes that it does. Called with w.mu held.
func (w *world) goesOn() {
	if w.over {
		return
	}
	w.lingers = true
	if w.forgets && w.trouble == nil {
		w.trouble = errLingers
		w.signal()
	}
}

func (w *world) record(b *buyer, e history.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Err != "" && !w.over {
		b.lastErr = e.Err
	}
	b.pausing = pausesAfter(e.Kind, b.pausing)
	if b.silent++; b.silent > maxSilent && w.trouble == nil && !w.over && !b.crashed {
		w.trouble = fmt.Errorf("%s: %w: %s", w.c.Kind.Name, errSilent, b.lastErr)
		w.signal()
	}
	if w.keep && !w.over {
		b.events = append(b.events, e)
	}
}

// call is the business call: it returns when the scheduler says so.
func (w *world) call(ctx context.Context, b *buyer) error {
	p := &pending{kind: ofCall, done: make(chan error, 1)}
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return errOver
	}
	w.waiting[p] = struct{}{}
	b.arrive(p)
	w.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		w.mu.Lock()
		b.remove(p)
		w.mu.Unlock()
		return ctx.Err()
	}
}
