package inventory

import "context"

// The drivers that a store of record can have: the values of --inventory.
const (
	Redis    = "redis"    // a server of its own, started by the backend
	Postgres = "postgres" // a database that a Source makes available
)

// Source makes a store of record available that isn't one of the backend's
// servers. Safe for concurrent use.
type Source interface {
	// Driver is the word by which the store is opened, e.g. Postgres.
	Driver() string
	// Probe says in a few words what would be used ("PostgreSQL 15.18 from
	// /usr/lib/postgresql/15/bin"), or, as an error with a hint, why it can't be.
	Probe(ctx context.Context) (string, error)
	// Start returns once the store answers and holds nothing. run is the id of
	// the invocation. After an error nothing is left.
	Start(ctx context.Context, run string) (*Place, error)
}

// Place is where a store of record is. Close it.
type Place struct {
	Driver string
	Server string // what answers there, e.g. "PostgreSQL 15.18"
	// DSN is how to connect to it. It may hold a password: it is never printed,
	// logged or saved.
	DSN    string
	Schema string // within the database, this invocation's own
	// Lost is closed when the store is certainly gone for good; nil when nobody
	// can tell. Why then says how that was seen.
	Lost <-chan struct{}
	Why  func() error
	// OnClose removes everything that was made for the invocation.
	OnClose func(ctx context.Context) error
}

// Close removes everything that was made for the invocation, and nothing else.
// A nil place has nothing to remove.
func (p *Place) Close(ctx context.Context) error {
	if p == nil || p.OnClose == nil {
		return nil
	}
	return p.OnClose(ctx)
}
