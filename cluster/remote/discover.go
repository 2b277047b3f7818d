package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
	"github.com/oversell/oversell/internal/hint"
)

// discover asks the sentinels for their master and its replicas, and for the
// sentinels that nobody named.
func (b *Backend) discover(ctx context.Context) ([]*node, error) {
	watching := asNodes(b.sentinels)
	teller, told, err := b.firstAnswer(ctx, watching)
	if err != nil {
		return nil, err
	}
	if !told.Usable {
		return nil, hint.Wrap(fmt.Errorf("%s says that no failover would work: %s", teller.addr, strings.Join(told.Problems, "; ")),
			"see redis-cli -p 26379 sentinel ckquorum %s", b.behind.set)
	}
	replicas, err := listed(ctx, teller, "REPLICAS")
	if err != nil {
		return nil, err
	}
	others, err := listed(ctx, teller, "SENTINELS")
	if err != nil {
		return nil, err
	}
	nodes := []*node{{endpoint: b.behind.at("master", cluster.RoleMaster, told.Master)}}
	for i, addr := range replicas {
		nodes = append(nodes, &node{endpoint: b.behind.at(fmt.Sprintf("replica-%d", i+1), cluster.RoleReplica, addr)})
	}
	known := addresses(ctx, b.sentinels)
	for _, addr := range others {
		if !known[addr] {
			name := fmt.Sprintf("sentinel-%d", len(watching)+1)
			watching = append(watching, &node{endpoint: b.sentinels[0].at(name, cluster.RoleSentinel, addr)})
		}
	}
	return append(nodes, watching...), nil
}

// firstAnswer is the answer of the first sentinel that knows the master.
func (b *Backend) firstAnswer(ctx context.Context, sentinels []*node) (*node, redisnode.Watched, error) {
	var errs []error
	for _, s := range sentinels {
		w, err := redisnode.AskSentinel(ctx, s)
		if err == nil {
			return s, w, nil
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if strings.Contains(err.Error(), "No such master") {
		return nil, redisnode.Watched{}, hint.Wrap(err, "the sentinels know no master called %q: correct master_name in --sentinel-url", b.behind.set)
	}
	return nil, redisnode.Watched{}, err
}

// listed returns the addresses that a sentinel lists.
func listed(ctx context.Context, s *node, what string) ([]string, error) {
	reply, err := redisnode.Do(ctx, s, "SENTINEL", what, s.set)
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	var addrs []string
	for _, one := range list {
		flat, ok := one.([]any)
		if !ok {
			return nil, fmt.Errorf("ask %s for SENTINEL %s: unexpected reply of type %T", s.addr, what, one)
		}
		fields := map[string]string{}
		for i := 0; i+1 < len(flat); i += 2 {
			fields[fmt.Sprint(flat[i])] = fmt.Sprint(flat[i+1])
		}
		addrs = append(addrs, net.JoinHostPort(fields["ip"], fields["port"]))
	}
	return addrs, nil
}

// addresses are those of the endpoints, by name and by number: sentinels name
// each other by number, as a rule.
func addresses(ctx context.Context, list []*endpoint) map[string]bool {
	all := map[string]bool{}
	for _, e := range list {
		all[e.addr] = true
		host, port, err := net.SplitHostPort(e.addr)
		if err != nil {
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			continue // it is known by its name at least
		}
		for _, ip := range ips {
			all[net.JoinHostPort(ip, port)] = true
		}
	}
	return all
}
