// Package history records what happened in a run: every event, one JSON object
// a line, stamped where it happened.
package history

import "time"

// Kind says what an event tells. The comment behind each kind names the fields
// that it fills besides N, At and Kind.
type Kind string

// Events of a purchase, recorded inside the instance (Instance, Buyer, Purchase).
const (
	AcquireStart   Kind = "acquire.start"   //
	Acquired       Kind = "acquired"        // Acquire returned a lease: the held interval starts
	AcquireRefused Kind = "acquire.refused" // certainly not held (Err)
	AcquireUnknown Kind = "acquire.unknown" // the outcome is unknown, the key may be held (Err)
	Begun          Kind = "begun"           // Token, Units (the stock it read)
	CallStart      Kind = "call.start"      // Token
	CallEnd        Kind = "call.end"        // Took
	LostNoticed    Kind = "lost"            // the lease said Lost: the held interval ends
	Abandoned      Kind = "abandoned"       // the purchase gave up before committing (Err)
	CommitStart    Kind = "commit.start"    // Token, Units (the stock it is about to write)
	Committed      Kind = "committed"       // Token, Units (written), Before (the stock it overwrote)
	CommitRefused  Kind = "commit.refused"  // the fence turned it away (Token)
	CommitUnknown  Kind = "commit.unknown"  // Token, Err
	ReleaseStart   Kind = "release.start"   // Release was called: the held interval ends
	Released       Kind = "released"        // Release returned without an error
	ReleaseNotHeld Kind = "release.notheld" // it was certainly someone else's or gone
	ReleaseUnknown Kind = "release.unknown" // Err
	SoldOut        Kind = "sold.out"        // this buyer read a stock of zero and left
	BuyerDone      Kind = "buyer.done"      // this buyer has no more to buy
)

// Events of an instance (Instance).
const (
	InstanceStarted Kind = "instance.started" // Text (e.g. "pid 4711")
	InstanceExited  Kind = "instance.exited"  // Text (how), Err when it wasn't planned
)

// Events seen on the wire (Instance, Server, Command, Role, Key, Value; Took:
// since the command came from the instance). Failed attempts to acquire are
// counted, not recorded: Count in WirePolls.
const (
	WireAcquired   Kind = "wire.acquired"   // the server granted the key; At is when its reply left the server
	WireExpire     Kind = "wire.expire"     // an expiry was set on the key (Text: the reply)
	WireRenewed    Kind = "wire.renewed"    // a renewal was answered (Text: the reply, Done: it took effect)
	WireReleased   Kind = "wire.released"   // a release was answered (Text: the reply, Done: it removed the key)
	WireUnanswered Kind = "wire.unanswered" // a command was sent to the server and its reply was lost; At is when that was certain
	WirePolls      Kind = "wire.polls"      // Count: failed attempts to acquire since the last such event
)

// Events of the engine (Instance 0).
const (
	RunStarted     Kind = "run.started" //
	RunPlanned     Kind = "run.planned" // Plan, as it stood when the servers were there
	LoadStarted    Kind = "load.started"
	LoadEnded      Kind = "load.ended"      // Phase: "done", "sold out", "stalled" or "interrupted"; Text: why
	RunEnded       Kind = "run.ended"       //
	RunFailed      Kind = "run.failed"      // Err: why the run came to no verdict
	FaultDue       Kind = "fault.due"       // Fault, Step, Instance and Purchase of the target: the moment to inject it has come
	FaultInjected  Kind = "fault.injected"  // Fault, Step, Instance and Purchase of the target, Text (proof), Took: since the act began
	FaultFailed    Kind = "fault.failed"    // Fault, Step, Err: no evidence, Took
	FaultHealed    Kind = "fault.healed"    // Fault, Step, Text
	ServerHealth   Kind = "server.health"   // Server, Text (PONG or why not), Done (healthy), Phase "before" or "after"
	ServerRole     Kind = "server.role"     // Server, Text ("promoted", "demoted", "killed", ...)
	KeyState       Kind = "key.state"       // Server, Key, Value ("" when absent), TTL (-1 none, -2 no key, else ms)
	StockCounted   Kind = "stock.counted"   // Units left, Count orders: the inventory after the load
	OrderFound     Kind = "order.found"     // Purchase, Token, Instance, Buyer: one order in the inventory, in commit order
	MachineStalled Kind = "machine.stalled" // Took: this process ran nothing for so long; Instance 0 is the engine; Fault: planned by that
	ServerInfo     Kind = "server.info"     // Server, Info: its figures over the load
	ServerSampled  Kind = "server.sampled"  // Server, Info: its figures since the sample before
)

// Event is one thing that happened. Zero fields are left out of the file.
type Event struct {
	N    int64         `json:"n"` // 1, 2, 3, ... in the order of the file
	At   time.Duration `json:"t"` // nanoseconds since the run's start
	Kind Kind          `json:"kind"`

	Instance int    `json:"instance,omitempty"` // 1, 2, ...; 0 is the engine
	Buyer    int    `json:"buyer,omitempty"`    // 1, 2, ... within the instance
	Purchase string `json:"purchase,omitempty"` // unique within the run; also the order's id

	Server  string `json:"server,omitempty"`
	Command string `json:"command,omitempty"`
	Role    string `json:"role,omitempty"`
	Key     string `json:"key,omitempty"`
	Value   string `json:"value,omitempty"`
	TTL     int64  `json:"ttl_ms,omitempty"`
	Done    bool   `json:"done,omitempty"`

	Token  int64 `json:"token,omitempty"`
	Units  int   `json:"units,omitempty"`
	Before int   `json:"before,omitempty"`
	Count  int   `json:"count,omitempty"`

	Fault string         `json:"fault,omitempty"`
	Step  int            `json:"step,omitempty"` // 1, 2, ... in the plan
	Phase string         `json:"phase,omitempty"`
	Took  time.Duration  `json:"took,omitempty"` // nanoseconds
	Away  time.Duration  `json:"away,omitempty"` // of Took, how long the server and the way to it needed; of replies on the wire
	Text  string         `json:"text,omitempty"`
	Err   string         `json:"err,omitempty"`
	Info  map[string]any `json:"info,omitempty"`
	Plan  *Plan          `json:"plan,omitempty"`
}

// Plan is everything that is needed to run a run again and to judge it later.
// It is saved as plan.json beside the history.
type Plan struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	Hazard   string `json:"hazard"`
	Lock     string `json:"lock"`
	Alias    string `json:"alias,omitempty"`
	Backend  string `json:"backend"`
	Shape    string `json:"shape"`
	Masters  int    `json:"masters,omitempty"` // of the quorum shape
	Redis    string `json:"redis"`             // the version asked for, e.g. "7.0"
	Server   string `json:"server,omitempty"`  // the version that answered, e.g. "Redis 7.0.15"

	Inventory       string `json:"inventory,omitempty"`        // the driver of the store of record: "redis", "postgres"
	InventoryServer string `json:"inventory_server,omitempty"` // what answered there, when it isn't one of the backend's

	Simulated bool `json:"simulated,omitempty"`
	Fenced    bool `json:"fenced"` // purchases use the inventory's fence
	Renews    bool `json:"renews"` // the lock relies on renewal in time

	Stock     int `json:"stock"`     // units
	Instances int `json:"instances"` //
	Buyers    int `json:"buyers"`    // over all instances
	Requests  int `json:"requests"`  // purchases wanted over all buyers

	TTL        time.Duration `json:"ttl"`         // nanoseconds, like every duration here
	Call       time.Duration `json:"call"`        // an ordinary business call
	RetryEvery time.Duration `json:"retry_every"` // mean pause between two attempts to acquire
	StallAfter time.Duration `json:"stall_after"` // no acquisition for so long, with demand and stock left: stalled
	MinSold    int           `json:"min_sold"`    // fewer orders than this prove nothing

	ClientRetries int       `json:"client_retries"` // go-redis MaxRetries of the lock's clients; 0 is none
	Key           string    `json:"key"`
	SKU           string    `json:"sku"`
	Seed          int64     `json:"seed"`
	Trial         int       `json:"trial"`
	Steps         []Step    `json:"steps"`
	Started       time.Time `json:"started"` // wall clock
	Expected      string    `json:"expected"`
	Command       string    `json:"command"`
	Version       string    `json:"version"` // of oversell

	// Observed says that this is a shop's own log: nothing was planned or
	// injected, and nobody looked after servers.
	Observed bool `json:"observed,omitempty"`
}

// Step is one planned fault, as words.
type Step struct {
	Fault    string `json:"fault"`
	When     string `json:"when"`
	Optional bool   `json:"optional,omitempty"` // only some locks get so far
}

// Planned returns the plan that events tell, or nil. It makes a history that is
// passed on without its folder whole.
func Planned(events []Event) *Plan {
	for _, e := range events {
		if e.Kind == RunPlanned && e.Plan != nil {
			return e.Plan
		}
	}
	return nil
}

// History is a whole run: what was planned and what happened.
type History struct {
	Plan   Plan
	Events []Event
}
