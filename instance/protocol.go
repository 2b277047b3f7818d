// Package instance is one shop process: the purchase its buyers make, the
// worker around them, and the engine's handle on it. Engine and worker talk
// JSON lines: hello, start, ready, go, events and calls, done, stop.
package instance

import (
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/history"
)

// message is one line of the protocol. Each type uses the fields named for it.
type message struct {
	Type string `json:"type"`

	PID      int            `json:"pid,omitempty"`      // hello
	Start    *Start         `json:"start,omitempty"`    // start
	Event    *history.Event `json:"event,omitempty"`    // event
	Purchase string         `json:"purchase,omitempty"` // call, return
	Buyer    int            `json:"buyer,omitempty"`    // call
	Token    int64          `json:"token,omitempty"`    // call
	Units    int            `json:"units,omitempty"`    // call
	Commit   bool           `json:"commit,omitempty"`   // call
	Err      string         `json:"err,omitempty"`      // failed
	Hint     string         `json:"hint,omitempty"`     // failed
}

// The types of messages. The first five go to the engine, the others come from it.
const (
	msgHello  = "hello"  // the worker is up
	msgReady  = "ready"  // its servers answer, its buyers wait for go
	msgFailed = "failed" // it can't start, or broke down: Err
	msgEvent  = "event"
	msgCall   = "call" // a business call begins; it ends with return
	msgDone   = "done" // every buyer is done

	msgStart  = "start"
	msgGo     = "go"
	msgReturn = "return"
	msgCancel = "cancel" // the customers of every purchase under way are gone
	msgStop   = "stop"   // give up what is under way and exit
)

// Start is all that a worker needs to know.
type Start struct {
	Instance   int           `json:"instance"`
	Epoch      time.Duration `json:"epoch"` // the run's start, as history.Monotonic read it
	Lock       string        `json:"lock"`  // name of the lock kind
	Key        string        `json:"key"`
	SKU        string        `json:"sku"`
	TTL        time.Duration `json:"ttl"`
	RetryEvery time.Duration `json:"retry_every"`
	StallOver  time.Duration `json:"stall_over"` // report when this process stood still for longer
	Seed       int64         `json:"seed"`
	Wants      []int         `json:"wants"` // units wanted by buyer 1, 2, ...
	Fence      bool          `json:"fence"`
	AskCommit  bool          `json:"ask_commit,omitempty"` // every commit is announced like a business call

	ClientRetries int           `json:"client_retries"` // 0 is none
	Shape         cluster.Shape `json:"shape"`
	Servers       []Server      `json:"servers"`              // hold the lock
	MasterSet     string        `json:"master_set,omitempty"` // as the sentinels know the master; "" for cluster.MasterSet
	Inventory     Inventory     `json:"inventory"`            // holds stock and orders
}

// Server is one server as an instance reaches it.
type Server struct {
	Name      string       `json:"name"`
	Role      cluster.Role `json:"role"`
	Announced string       `json:"announced"` // as sentinels and configurations name it
	Dial      string       `json:"dial"`      // the wire's port for this instance; "" without sockets
}

// Inventory is the store of record as an instance reaches it: a Redis server
// through the wire, or a database by connections of the instance's own. The
// message that has it goes through a pipe, so a password in it is seen by
// nobody else.
type Inventory struct {
	Driver string `json:"driver"` // inventory.Redis, inventory.Postgres
	Server
	DSN    string `json:"dsn,omitempty"`
	Schema string `json:"schema,omitempty"`
}

// Call is a business call that has begun in an instance, or, where the engine
// wants to know, a commit that is about to be written.
type Call struct {
	Instance int
	Buyer    int
	Purchase string
	Token    int64 // fencing token
	Units    int   // the stock that the purchase read
	Commit   bool  // the call has returned and the lock was found held: the write comes next
}
