package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster"
)

// dialTimeout bounds a connection: TCP, TLS and authentication.
const dialTimeout = 5 * time.Second

// node is one server. It can be talked to; killing, pausing or cutting it off
// is its owner's business.
type node struct {
	*endpoint
	version string // known after examine
	runID   string // "" where the server doesn't tell
}

var (
	_ cluster.Node = (*node)(nil)
	_ cluster.Set  = (*node)(nil)
)

func (n *node) Name() string       { return n.name }
func (n *node) Role() cluster.Role { return n.role }
func (n *node) Announced() string  { return n.addr }
func (n *node) Addr() string       { return n.addr }
func (n *node) Version() string    { return n.version }
func (n *node) MasterSet() string  { return n.set }

// Logs is an error: the logs are where the server is.
func (n *node) Logs(context.Context, int) ([]string, error) {
	return nil, fmt.Errorf("the logs of %s are out of reach of the %s backend", n.name, Name)
}

// Dial returns a connection on which plain RESP can be spoken: TLS, user and
// password, and the number of the database are dealt with. So the wire between
// instances and servers sees commands, and no secret ever leaves this process.
func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, n.network, n.addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", n.name, err)
	}
	if n.tls != nil {
		secure := tls.Client(conn, n.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connect to %s at %s%s: %w", n.name, n.addr, byTLS, err)
		}
		conn = secure
	}
	if err := n.greet(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connect to %s at %s: %w", n.name, n.addr, err)
	}
	return conn, nil
}

// byTLS marks the errors of a handshake.
const byTLS = " by TLS"

// greet authenticates and chooses the database.
func (n *node) greet(ctx context.Context, conn net.Conn) error {
	var commands [][]string
	switch {
	case n.password != "" && n.user != "":
		commands = append(commands, []string{"AUTH", n.user, n.password})
	case n.password != "":
		commands = append(commands, []string{"AUTH", n.password})
	}
	if n.db != 0 {
		commands = append(commands, []string{"SELECT", strconv.Itoa(n.db)})
	}
	if len(commands) == 0 {
		return nil
	}
	deadline, _ := ctx.Deadline() // Dial has set one
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := conn.Write(encode(c)); err != nil {
			return fmt.Errorf("%s: %w", c[0], err)
		}
		if err := readOK(conn); err != nil {
			return fmt.Errorf("%s: %w", c[0], err)
		}
	}
	return conn.SetDeadline(time.Time{})
}

func encode(words []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.Bytes()
}

// answer is an error that a server answered with.
type answer string

func (a answer) Error() string { return string(a) }

// maxAnswer bounds the answer to a greeting.
const maxAnswer = 4 << 10

// readOK reads one line and not a byte more: what follows belongs to whoever
// gets the connection.
func readOK(conn io.Reader) error {
	var line []byte
	for b := make([]byte, 1); !bytes.HasSuffix(line, []byte("\r\n")); line = append(line, b[0]) {
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
		if len(line) > maxAnswer {
			return errors.New("the answer is no line of RESP")
		}
	}
	text := strings.TrimSpace(string(line))
	switch {
	case strings.HasPrefix(text, "+"):
		return nil
	case strings.HasPrefix(text, "-"):
		return answer(text[1:])
	}
	return errors.New("the answer is none that a Redis server gives")
}
