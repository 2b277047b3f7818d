package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/history"
)

const benchCommand = "*6\r\n$3\r\nset\r\n$9\r\nlock:sku1\r\n$16\r\n0123456789abcdef\r\n$2\r\npx\r\n$3\r\n300\r\n$2\r\nnx\r\n"

// startEcho is a server that answers every benchCommand with a nil, as cheaply
// as can be.
func startEcho(b *testing.B) Upstream {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				answer(c)
			})
		}
	})
	b.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return dialUpstream("tcp", l.Addr().String())
}

func answer(c net.Conn) {
	buf := make([]byte, 64<<10)
	got := 0
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		got += n
		whole := got / len(benchCommand)
		got %= len(benchCommand)
		if _, err := c.Write(bytes.Repeat([]byte("$-1\r\n"), whole)); err != nil {
			return
		}
	}
}

// BenchmarkRelay measures commands through a relay with one handler, over
// loopback, and without a relay for comparison.
func BenchmarkRelay(b *testing.B) {
	for _, bench := range []struct {
		conns, pipeline int
	}{{1, 1}, {50, 1}, {200, 1}, {1, 100}, {50, 100}} {
		name := fmt.Sprintf("conns=%d/pipeline=%d", bench.conns, bench.pipeline)
		b.Run(name, func(b *testing.B) {
			up := startEcho(b)
			w := New(history.Since(history.Monotonic()), func(context.Context, Point, *Exchange) Action { return Pass })
			defer w.Close()
			addr, err := w.Listen(1, "redis", up)
			require.NoError(b, err)
			load(b, dialUpstream("tcp", addr), bench.conns, bench.pipeline)
		})
		b.Run(name+"/direct", func(b *testing.B) { load(b, startEcho(b), bench.conns, bench.pipeline) })
	}
}

// load sends b.N commands over conns connections, pipeline at a time.
func load(b *testing.B, dial Upstream, conns, pipeline int) {
	request := strings.Repeat(benchCommand, pipeline)
	clients := make([]net.Conn, conns)
	for i := range clients {
		c, err := dial(context.Background())
		require.NoError(b, err)
		defer c.Close()
		clients[i] = c
	}
	b.ReportAllocs()
	b.ResetTimer()
	var work sync.WaitGroup
	for i, c := range clients {
		rounds := b.N / conns / pipeline
		if i == 0 {
			rounds = max(1, rounds)
		}
		work.Go(func() {
			r := bufio.NewReader(c)
			reply := make([]byte, 5*pipeline)
			for range rounds {
				_, err := io.WriteString(c, request)
				if err == nil {
					_, err = io.ReadFull(r, reply)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cmds/s")
}
