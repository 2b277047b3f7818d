package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reservePort finds a free loopback port and keeps it from everybody else but
// the server it is meant for, also while that server is down, until release.
//
// It binds a socket that never listens. On Linux, a server that sets
// SO_REUSEADDR, as these do, can listen on such a port nonetheless; but the
// kernel hands the port to nobody who asks for just any.
func reservePort() (port int, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	port, err = bindAny(fd)
	if err != nil {
		_ = unix.Close(fd)
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	return port, func() { _ = unix.Close(fd) }, nil
}

func bindAny(fd int) (port int, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	addr, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	in4, ok := addr.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("unexpected address %T", addr)
	}
	return in4.Port, nil
}
