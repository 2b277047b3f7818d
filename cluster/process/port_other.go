//go:build unix && !linux

package process

import (
	"fmt"
	"net"
)

// reservePort finds a loopback port that is free now. Here it can't be kept
// from others: who starts a server on it tries another when it is taken.
func reservePort() (port int, release func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, func() {}, nil
}
