package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Networks get subnets of our own choice, for two reasons: only in such a one
// may a container have a fixed address, which is what sentinels know a server
// by after it restarts; and the engine's own pools are good for about thirty
// networks in all. The range is reserved for tests of network equipment
// (RFC 2544), so that it is least likely to be in use.
var subnetRange = netip.MustParsePrefix("198.19.0.0/17")

const (
	subnetBits  = 28 // room for 13 containers
	subnetTries = 64 // occupied subnets to skip before giving up
	firstHost   = 2  // after the network's own address and the gateway's
)

// subnet is one network of a cluster.
type subnet struct {
	name   string
	prefix netip.Prefix
}

// host returns the address of the i-th node, the same one in every life of it.
func (s subnet) host(i int) netip.Addr {
	a := s.prefix.Addr().As4()
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+firstHost+uint32(i))
	return netip.AddrFrom4(a)
}

// endpoint is the i-th node's place in the network.
func (s subnet) endpoint(i int) *network.EndpointSettings {
	return &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: s.host(i)}}
}

func randomSubnet() netip.Prefix {
	a := subnetRange.Addr().As4()
	slots := uint32(1) << (subnetBits - subnetRange.Bits())
	base := binary.BigEndian.Uint32(a[:]) + rand.Uint32N(slots)<<(32-subnetBits)
	binary.BigEndian.PutUint32(a[:], base)
	return netip.PrefixFrom(netip.AddrFrom4(a), subnetBits)
}

// usedHere reports whether an interface of this machine lies in the subnet. The
// engine knows its own networks only.
func usedHere(p netip.Prefix) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if other, err := netip.ParsePrefix(a.String()); err == nil && other.Overlaps(p) {
			return true
		}
	}
	return false
}

// createNetwork makes a network in a free subnet. internal: no way out, and
// never the network over which ports are published.
func (e *engine) createNetwork(ctx context.Context, name string, internal bool, labels map[string]string) (subnet, error) {
	var last error = errors.New("every subnet tried is an interface's of this machine")
	for range subnetTries {
		p := randomSubnet()
		if usedHere(p) {
			continue
		}
		if ctx.Err() != nil {
			return subnet{}, ctx.Err()
		}
		err := mutate(ctx, func(ctx context.Context) error {
			_, err := e.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
				Driver:   "bridge",
				Internal: internal,
				Labels:   labels,
				IPAM:     &network.IPAM{Config: []network.IPAMConfig{{Subnet: p}}},
			})
			return err
		})
		if err == nil {
			return subnet{name: name, prefix: p}, nil
		}
		if last = err; !strings.Contains(strings.ToLower(err.Error()), "overlap") {
			break
		}
	}
	return subnet{}, fmt.Errorf("create network %s: %w", name, explain(last))
}
