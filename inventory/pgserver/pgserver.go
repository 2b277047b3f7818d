// Package pgserver starts a PostgreSQL to keep an inventory in: in a
// container, or from the distribution's programs in a temporary folder on a
// loopback port. It holds nothing that must outlive the invocation, and dies
// with this process, however it dies.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgstore"
)

// Container starts PostgreSQL in a container.
type Container interface {
	// ProbePostgres says what would be used, or why it can't be.
	ProbePostgres(ctx context.Context) (string, error)
	// StartPostgres starts a server with a superuser of that name and password.
	// It may return before the server answers. After an error nothing is left.
	StartPostgres(ctx context.Context, run, user, password string) (*inventory.Place, error)
}

// Source is an inventory.Source of servers that it starts. Use New.
type Source struct{ container Container }

var _ inventory.Source = (*Source)(nil)

// New makes a source. With a container it starts one where that can be had,
// and else the distribution's programs.
func New(container Container) *Source { return &Source{container: container} }

// superuser is who owns everything on the servers that are started.
const superuser = "oversell"

// Driver implements inventory.Source.
func (s *Source) Driver() string { return inventory.Postgres }

// Probe implements inventory.Source.
func (s *Source) Probe(ctx context.Context) (string, error) {
	_, what, err := s.choose(ctx)
	return what, err
}

// choose decides between container and programs; the text says on what, and
// why it isn't a container where one was wanted.
func (s *Source) choose(ctx context.Context) (inContainer bool, what string, err error) {
	var why error
	if s.container != nil {
		if what, why = s.container.ProbePostgres(ctx); why == nil {
			return true, what, nil
		}
	}
	p, err := find(ctx)
	if err != nil {
		if why != nil {
			err = hint.Wrap(fmt.Errorf("%w; and in no container: %w", err, why), "%s", hint.Of(err))
		}
		return false, "", err
	}
	what = p.String()
	if why != nil {
		what += fmt.Sprintf("; in no container: %v", why)
	}
	return false, what, nil
}

// Start implements inventory.Source.
func (s *Source) Start(ctx context.Context, run string) (*inventory.Place, error) {
	inContainer, _, err := s.choose(ctx)
	if err != nil {
		return nil, err
	}
	var server *inventory.Place
	if inContainer {
		server, err = s.container.StartPostgres(ctx, run, superuser, newPassword())
	} else {
		server, err = startProcess(ctx, run, newPassword())
	}
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	place, err := settle(ctx, server, run)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", errors.Join(err, server.Close(context.WithoutCancel(ctx))))
	}
	return place, nil
}

const (
	// answerTimeout bounds how long a started server may take to answer.
	answerTimeout = time.Minute
	// askEvery is the pause between two attempts to reach it.
	askEvery = 20 * time.Millisecond
)

// settle waits until the server answers and makes the tables. The place that
// it returns closes the server, too.
func settle(ctx context.Context, server *inventory.Place, run string) (*inventory.Place, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("it didn't answer within %s", answerTimeout))
	defer cancel()
	for {
		home, err := pgstore.Make(ctx, server.DSN, pgstore.SchemaOf(run))
		if err == nil {
			return together(home, server, run), nil
		}
		select {
		case <-server.Lost:
			return nil, server.Why()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; last seen: %v", context.Cause(ctx), err)
		case <-time.After(askEvery):
		}
	}
}

// together is a server with the invocation's schema in it.
func together(home *pgstore.Home, server *inventory.Place, run string) *inventory.Place {
	p := &inventory.Place{
		Driver: inventory.Postgres, Server: home.Server(), DSN: server.DSN, Schema: pgstore.SchemaOf(run),
		Lost: server.Lost, Why: server.Why,
		OnClose: func(ctx context.Context) error {
			home.Leave() // the schema goes with the server
			return server.Close(ctx)
		},
	}
	if p.Lost == nil { // the server can't tell, and the connection can
		p.Lost, p.Why = home.Lost(), home.Why
	}
	return p
}
