package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/oversell/oversell/internal/hint"
)

// The environment variables that passwords may come from.
const (
	PasswordEnv         = "OVERSELL_REDIS_PASSWORD"
	SentinelPasswordEnv = "OVERSELL_SENTINEL_PASSWORD"
)

// advice is what to do about an answer of a server, by how it begins.
var advice = []struct{ words, hint string }{
	{"NOAUTH", "the server wants a password: set " + PasswordEnv + " (for sentinels " + SentinelPasswordEnv + ") or put it into the URL"},
	{"WRONGPASS", "user or password is wrong: see the URL, " + PasswordEnv + " and " + SentinelPasswordEnv},
	{"ERR AUTH", "the server knows no password: leave it out, and unset " + PasswordEnv},
	{"ERR Client sent AUTH", "the server knows no password: leave it out, and unset " + PasswordEnv},
	{"NOPERM", "this user lacks a right: oversell needs PING, INFO, ROLE, DBSIZE, SCAN, and all of the locks' commands on oversell:*"},
	{"ERR DB index", "the server has no database of that number"},
	{"DENIED", "the server is in protected mode: set a password or a bind address there"},
	{"LOADING", "the server is still reading its data: try again once it has"},
	{"READONLY", "this is a replica: name the master"},
}

// explain adds a hint to an error on the way to a server, unless it has one or
// the caller's context has ended.
func explain(err error) error {
	if err == nil || hint.Of(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	text := err.Error()
	for _, a := range advice {
		if strings.Contains(text, a.words) {
			return hint.Wrap(err, "%s", a.hint)
		}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return hint.Wrap(err, "the server's certificate is signed by nobody this machine knows: SSL_CERT_FILE=ca.pem names who is to be trusted")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return hint.Wrap(err, "see whether the certificate is valid and made out for the host in the URL")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return hint.Wrap(err, "the server doesn't speak TLS on this port: redis:// instead of rediss://")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return hint.Wrap(err, "no address is known for %s: check the URL", dns.Name)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return hint.Wrap(err, "nothing listens there: start the server, or correct host and port; sentinels must name addresses that can be reached from here")
	case isTimeout(err) && strings.Contains(text, byTLS):
		return hint.Wrap(err, "no answer in time: where the server doesn't speak TLS, the URL wants redis:// instead of rediss://")
	case isTimeout(err):
		return hint.Wrap(err, "no answer in time: check host, port and firewall; sentinels must name addresses that can be reached from here")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return hint.Wrap(err, "the connection was closed at once: a port for TLS wants rediss:// in the URL")
	}
	return hint.Wrap(err, "check the URL, and whether the server is there")
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
