package docker

import (
	"fmt"
	"maps"
	"os"
	"strconv"
)

// The labels of everything that an invocation creates.
const (
	labelRun     = "oversell.run"
	labelCluster = "oversell.cluster"
	labelNode    = "oversell.node"
	labelPID     = "oversell.owner.pid"
	labelStart   = "oversell.owner.start"
	labelHost    = "oversell.owner.host"
)

// owner is the process that created something. A pid comes back in time, so
// the start of its process belongs to it.
type owner struct {
	pid   int
	start string
	host  string // which machine, which boot of it, and which view of its processes
}

// self returns this process.
func self() (owner, error) {
	start, err := startOf(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("read this process's start time: %w", err)
	}
	return owner{pid: os.Getpid(), start: start, host: hostIdentity()}, nil
}

// labels returns the owner's labels together with more.
func (o owner) labels(more map[string]string) map[string]string {
	l := map[string]string{
		labelPID:   strconv.Itoa(o.pid),
		labelStart: o.start,
		labelHost:  o.host,
	}
	maps.Copy(l, more)
	return l
}

// ownerOf reads the labels of a container or network.
func ownerOf(labels map[string]string) (owner, bool) {
	pid, err := strconv.Atoi(labels[labelPID])
	if err != nil || pid <= 0 {
		return owner{}, false
	}
	return owner{pid: pid, start: labels[labelStart], host: labels[labelHost]}, true
}

// dead reports whether the owner is certainly gone, seen from me. The process
// of another machine, or of a container with processes of its own, can't be
// seen from here: it counts as living. On an engine of this machine (local), a
// name like this machine's with another boot is this machine before it rebooted.
func (o owner) dead(me owner, local bool) bool {
	if o.host != me.host {
		return local && rebooted(o.host, me.host)
	}
	start, err := startOf(o.pid)
	if os.IsNotExist(err) {
		return true
	}
	return err == nil && start != o.start
}
