package docker

import (
	"context"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

const (
	hostVariable = "TESTCONTAINERS_HOST_OVERRIDE"
	loopback     = "127.0.0.1"
)

// hosts lists the addresses on which a published port may answer, best first.
// testcontainers alone would name the bridge's gateway wherever it believes
// itself in a container, and nothing published on loopback answers there.
func (e *engine) hosts(ctx context.Context) []string {
	if h := os.Getenv(hostVariable); h != "" {
		return []string{h}
	}
	if h := remoteHost(e.endpoint); h != "" {
		return []string{h}
	}
	list := []string{loopback}
	if seen := e.host.Load(); seen != nil && *seen != loopback {
		list = []string{*seen, loopback}
	}
	guess, err := e.provider.DaemonHost(ctx)
	// "localhost" may mean ::1, where nothing is published.
	if err == nil && guess != "localhost" && !slices.Contains(list, guess) {
		list = append(list, guess)
	}
	return list
}

// remoteHost returns the host of an engine on another machine, "" for one on
// this machine.
func remoteHost(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "tcp", "http", "https":
	default:
		return ""
	}
	h := u.Hostname()
	if ip := net.ParseIP(h); h == "localhost" || ip != nil && ip.IsLoopback() {
		return ""
	}
	return h
}

// answering tries each host once and returns the address at which n's server,
// published at port, answers PING; else the last error.
func (e *engine) answering(ctx context.Context, n cluster.Node, port string) (string, error) {
	var last error
	for _, h := range e.hosts(ctx) {
		addr := net.JoinHostPort(h, port)
		if err := redisnode.Ping(ctx, nodeAt{n, addr}); err != nil {
			last = err
			continue
		}
		e.host.Store(&h)
		return addr, nil
	}
	return "", last
}

// shortcutPatience bounds the search for a shortcut: where there is none, packets
// may get lost without a word. Where there is one, the kernel takes the connection
// at once; answerPatience is for the server, which may be busy starting.
const (
	shortcutPatience = time.Second
	answerPatience   = 10 * time.Second
)

// shortcut returns the server's own address on the network of its clients, when
// this machine reaches it there: every command to a published port goes through a
// process of Docker's that costs more than the server itself. It is "" where
// there is no such way, as with an engine in a virtual machine, or where somebody
// else answers at that address.
func (e *engine) shortcut(ctx context.Context, n cluster.Node, published string) string {
	if os.Getenv(hostVariable) != "" || remoteHost(e.endpoint) != "" || e.detour.Load() {
		return ""
	}
	own := nodeAt{n, n.Announced()}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	if !reachable(ctx, own) || !sameServer(ctx, own, nodeAt{n, published}) {
		e.detour.Store(true)
		return ""
	}
	return own.addr
}

// reachable reports whether somebody takes connections at n's address.
func reachable(ctx context.Context, n nodeAt) bool {
	ctx, cancel := context.WithTimeout(ctx, shortcutPatience)
	defer cancel()
	conn, err := n.Dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// sameServer reports whether one and the same server answers as both nodes.
func sameServer(ctx context.Context, a, b cluster.Node) bool {
	var ids [2]string
	for i, n := range []cluster.Node{a, b} {
		info, err := askInfo(ctx, n, "server")
		if err != nil {
			return false
		}
		ids[i] = info["run_id"]
	}
	return ids[0] != "" && ids[0] == ids[1]
}

// nodeAt is a node that is dialled at an address still to be tried.
type nodeAt struct {
	cluster.Node
	addr string
}

func (n nodeAt) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", n.addr)
}
