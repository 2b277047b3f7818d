package remote

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

// endpoint is how to get to one server. What is secret stays in it: instances
// get connections that are authenticated already.
type endpoint struct {
	name string
	role cluster.Role

	network, addr  string
	tls            *tls.Config // nil for none
	user, password string
	db             int
	set            string // name of the master set, of sentinels and what is behind them
}

// at is a server that has everything but its place in common with e.
func (e *endpoint) at(name string, role cluster.Role, addr string) *endpoint {
	if e == nil {
		e = &endpoint{}
	}
	other := *e
	other.name, other.role, other.network, other.addr = name, role, "tcp", addr
	return &other
}

// parse reads the URL of a server that holds data.
func parse(flag, text, password string) (*endpoint, error) {
	o, err := options(flag, text, password)
	if err != nil {
		return nil, err
	}
	return &endpoint{
		role: cluster.RoleMaster, network: o.Network, addr: o.Addr, tls: o.TLSConfig,
		user: o.Username, password: o.Password, db: o.DB,
	}, nil
}

// options reads such a URL. The password counts where the URL has none.
func options(flag, text, password string) (*redis.Options, error) {
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, unreadable(flag, err, "redis://user@host:6379/0, or rediss:// for TLS")
	}
	o.Password = cmp.Or(o.Password, password)
	return o, nil
}

// readSentinels reads the sentinels' URLs, all of the same master set.
func (b *Backend) readSentinels(o Options) error {
	for _, text := range o.Sentinels {
		const example = "redis://host:26379?master_name=mymaster&addr=otherhost:26379"
		f, err := redis.ParseFailoverURL(text)
		if err != nil {
			return unreadable("--sentinel-url", err, example)
		}
		if f.MasterName == "" {
			return hint.Wrap(errors.New("--sentinel-url says nothing of master_name"), "for example %s", example)
		}
		if b.behind != nil && b.behind.set != f.MasterName {
			return hint.Wrap(errors.New("two --sentinel-url name different masters"), "all sentinels must watch over the same master_name")
		}
		if b.behind == nil {
			b.behind = &endpoint{tls: f.TLSConfig, user: f.Username, password: cmp.Or(f.Password, o.Password), db: f.DB, set: f.MasterName}
		}
		watching := &endpoint{tls: f.TLSConfig, user: f.SentinelUsername, password: cmp.Or(f.SentinelPassword, o.SentinelPassword), set: f.MasterName}
		for _, addr := range f.SentinelAddrs {
			if !slices.ContainsFunc(b.sentinels, func(e *endpoint) bool { return e.addr == addr }) {
				b.sentinels = append(b.sentinels, watching.at(fmt.Sprintf("sentinel-%d", len(b.sentinels)+1), cluster.RoleSentinel, addr))
			}
		}
	}
	return nil
}

// unreadable explains a URL that can't be read, without a part of it that may
// be secret: only the library's own words are repeated, and only those that
// name nothing but a scheme or an option.
func unreadable(flag string, err error, example string) error {
	reason := "it can't be read as a URL"
	if ue, ok := errors.AsType[*url.Error](err); !ok || ue == nil {
		text := strings.TrimPrefix(err.Error(), "redis: ")
		for _, known := range []string{"invalid URL scheme", "unexpected option", "invalid database number"} {
			if strings.HasPrefix(text, known) {
				reason = known
			}
		}
	}
	return hint.Wrap(fmt.Errorf("%s: %s", flag, reason), "for example %s", example)
}
