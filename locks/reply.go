package locks

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Refused reports whether err is a server's error reply: the command was
// certainly not executed. A broken connection, a time-out or an ended context
// isn't one, and leaves the outcome unknown.
//
// That holds for clients that don't retry (MaxRetries -1). A go-redis client
// that does may get its reply lost, repeat the command behind the caller's
// back, and report what became of the repetition: "refused", or, worse, "not
// acquired" for a key that its first try has taken.
func Refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !errors.Is(err, redis.Nil)
}

// passing are the first words of the error replies that end by themselves.
var passing = []string{
	"READONLY",    // a replica, or a master that was just demoted
	"LOADING",     // reading its data after a restart
	"MASTERDOWN",  // a replica without its master
	"CLUSTERDOWN", // slots without a master
	"NOREPLICAS",  // too few replicas to accept writes
	"TRYAGAIN",    // slots on the move
	"BUSY",        // another client's script is running
	"MISCONF",     // can't save to disk, so refuses writes
	"OOM",         // out of memory, so refuses writes
	"ERR max number of clients reached",
}

// RefusedForNow reports whether err is an error reply that goes away without
// anyone changing the command: a failover, a restart, an overload. To a lock
// that is a matter of availability and not an answer, so it asks again.
func RefusedForNow(err error) bool {
	if !Refused(err) {
		return false
	}
	for _, p := range passing {
		if hasWords(err, p) {
			return true
		}
	}
	return false
}

// hasWords looks at the reply itself, which may be wrapped.
func hasWords(err error, words string) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	rest, ok := strings.CutPrefix(reply.Error(), words)
	return ok && (rest == "" || rest[0] == ' ')
}
