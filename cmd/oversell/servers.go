package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/remote"
	"github.com/oversell/oversell/internal/engine"
	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/inventory"
	"github.com/oversell/oversell/inventory/pgstore"
)

// serverOptions is what the command line says of servers that are there
// already, and of the inventory.
type serverOptions struct {
	RedisURL      string
	SentinelURLs  []string
	QuorumURLs    []string
	AllowNonempty bool

	Inventory    string // "": redis, or what InventoryURL is of
	InventoryURL string
}

// inventories lists the values of --inventory, the default first.
var inventories = []string{inventory.Redis, inventory.Postgres}

func addServerFlags(f *pflag.FlagSet, o *serverOptions) {
	f.StringVar(&o.RedisURL, "redis-url", "", "a test server of yours for --backend remote: redis://user@host:6379/0, rediss:// for TLS; password in $"+remote.PasswordEnv)
	f.StringArrayVar(&o.SentinelURLs, "sentinel-url", nil, "sentinels of yours, repeatable: redis://host:26379?master_name=mymaster; password in $"+remote.SentinelPasswordEnv)
	f.StringArrayVar(&o.QuorumURLs, "quorum-url", nil, "independent masters of yours, repeatable or separated by commas")
	f.BoolVar(&o.AllowNonempty, "allow-nonempty", false, "use your servers although they hold keys that aren't oversell's")
	f.StringVar(&o.Inventory, "inventory", "", "what keeps stock and orders: "+strings.Join(inventories, ", "))
	f.Lookup("inventory").DefValue = inventories[0]
	f.StringVar(&o.InventoryURL, "inventory-url", "", "a PostgreSQL database of yours to keep them in: postgres://user@host:5432/database; password in $PGPASSWORD or ~/.pgpass")
}

// remote makes the backend of the user's own servers, or nil where none are
// asked for. Naming them asks for it.
func (a *app) remote(backend string, o *serverOptions) (*remote.Backend, error) {
	named := o.RedisURL != "" || len(o.SentinelURLs) > 0 || len(o.QuorumURLs) > 0
	if backend != remote.Name && (backend != autoBackend || !named) {
		switch {
		case named:
			return nil, hint.Wrap(usagef("--backend %s uses no servers that are there already", backend), "leave --backend out, or say --backend remote")
		case o.AllowNonempty:
			return nil, hint.Wrap(usagef("--allow-nonempty is for the remote backend"), "name your servers with --redis-url, --sentinel-url or --quorum-url")
		}
		return nil, nil
	}
	b, err := remote.New(remote.Options{
		Redis: o.RedisURL, Sentinels: splitURLs(o.SentinelURLs), Quorum: splitURLs(o.QuorumURLs), AllowNonempty: o.AllowNonempty,
		Password: a.env(remote.PasswordEnv), SentinelPassword: a.env(remote.SentinelPasswordEnv),
	})
	if err != nil {
		return nil, &codeError{exitUsage, err}
	}
	return b, nil
}

// splitURLs splits at the commas behind which another URL begins.
func splitURLs(given []string) []string {
	var urls []string
	for _, text := range given {
		for i, part := range strings.Split(text, ",") {
			if i > 0 && !strings.Contains(part, "://") {
				urls[len(urls)-1] += "," + part
				continue
			}
			urls = append(urls, part)
		}
	}
	return urls
}

// checkInventory refuses what is wrong whatever there is on this machine.
func checkInventory(o *serverOptions) error {
	if o.Inventory != "" && !slices.Contains(inventories, o.Inventory) {
		return unknown("value of --inventory", o.Inventory, inventories)
	}
	if o.InventoryURL == "" {
		return nil
	}
	if o.Inventory == inventory.Redis {
		return hint.Wrap(usagef("--inventory-url names a PostgreSQL database, and --inventory says redis"), "leave one of them out")
	}
	if err := pgstore.CheckURL(o.InventoryURL); err != nil {
		return &codeError{exitUsage, err}
	}
	return nil
}

// keep finds what is to keep stock and orders, and puts it into the engine's
// configuration. The backend's own servers need no word about it.
func (a *app) keep(ctx context.Context, o *serverOptions, c *engine.Config) error {
	ctx, cancel := context.WithTimeout(ctx, probeOne)
	defer cancel()
	if o.InventoryURL != "" || o.Inventory == inventory.Postgres {
		source := a.postgres(o.InventoryURL, c.Backend)
		what, err := source.Probe(ctx)
		if err != nil {
			return environment(fmt.Errorf("the inventory can't be kept in PostgreSQL: %w", err))
		}
		a.notes.say("inventory %s: %s", source.Driver(), what)
		c.Inventory = source
		return nil
	}
	if c.Backend.Name() != remote.Name {
		return nil
	}
	b, what, err := a.nearby(ctx)
	if err != nil {
		return err
	}
	a.notes.say("inventory redis: %s, on this machine", what)
	c.InventoryBackend = b
	return nil
}

// nearby is a backend for the inventory of runs whose locks are on the user's
// own servers: the store of record must not be on a server under test.
func (a *app) nearby(ctx context.Context) (b cluster.Backend, what string, err error) {
	order := slices.Clone(a.backends)
	slices.Reverse(order) // a process is up sooner than a container
	slices.SortStableFunc(order, func(x, y cluster.Backend) int { return cmp.Compare(simulates(x), simulates(y)) })
	var errs []string
	for _, b := range order {
		if what, err = b.Probe(ctx, ""); err == nil {
			return b, what, nil
		}
		errs = append(errs, fmt.Sprintf("%s: %v", b.Name(), err))
	}
	return nil, "", environment(hint.Wrap(fmt.Errorf("nothing here can keep the inventory: %s", strings.Join(errs, "; ")),
		"install redis-server, or name a database with --inventory-url"))
}

func simulates(b cluster.Backend) int {
	if b.Real() {
		return 0
	}
	return 1
}

// repeat is the part of a command line that names the servers again, without
// what is secret about them.
func (o *serverOptions) repeat() []string {
	var words []string
	add := func(flag string, urls ...string) {
		for _, u := range urls {
			public, _ := withoutSecrets(u)
			words = append(words, given(flag, u != "", public)...)
		}
	}
	add("--redis-url", o.RedisURL)
	add("--sentinel-url", splitURLs(o.SentinelURLs)...)
	add("--quorum-url", splitURLs(o.QuorumURLs)...)
	if o.AllowNonempty {
		words = append(words, "--allow-nonempty")
	}
	words = append(words, given("--inventory", o.Inventory != "", o.Inventory)...)
	add("--inventory-url", o.InventoryURL)
	return words
}

// withoutSecrets is a URL without its password, and without every option that
// may be one; hidden reports whether there were any.
func withoutSecrets(raw string) (public string, hidden bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return "URL", false // it was refused, or will be
	}
	if _, hidden = u.User.Password(); hidden {
		u.User = url.User(u.User.Username())
	}
	if u.User.String() == "" {
		u.User = nil
	}
	q := u.Query()
	for name := range q {
		word := strings.ToLower(name)
		if strings.Contains(word, "pass") || strings.Contains(word, "secret") || strings.Contains(word, "token") {
			q.Del(name)
			hidden = true
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), hidden
}

// secretive says, where a command leaves passwords out, how they are given.
func (o *serverOptions) secretive() string {
	var names []string
	for _, place := range []struct {
		urls []string
		name string
	}{
		{slices.Concat(strings.Fields(o.RedisURL), o.SentinelURLs, o.QuorumURLs), remote.PasswordEnv},
		{o.SentinelURLs, remote.SentinelPasswordEnv},
		{[]string{o.InventoryURL}, "PGPASSWORD"},
	} {
		if slices.ContainsFunc(splitURLs(place.urls), func(u string) bool { _, hidden := withoutSecrets(u); return hidden }) {
			names = append(names, "$"+place.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("everybody on this machine can read passwords on a command line; %s keeps them off it, and reports leave them out",
		strings.Join(names, ", "))
}
