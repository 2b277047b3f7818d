package docker

import (
	"fmt"
	"strings"

	"github.com/oversell/oversell/internal/hint"
)

// advice is what to do about an engine's error, known by words in it: the
// engine's answers carry no codes that would tell these apart.
var advice = []struct {
	words []string // any of them
	hint  string
}{
	{[]string{"non-overlapping ipv4 address pool", "predefined address pools have been fully subnetted"},
		"the engine has no addresses left for networks: run `oversell clean`, then `docker network prune`"},
	{[]string{"port is already allocated", "address already in use", "ports are not available"},
		"another program took the port in the same moment: run it again"},
	{[]string{"is already in use by container", "with name oversell"},
		"a container of that name is left from another run: run `oversell clean`"},
	{[]string{"permission denied"},
		"this user may not use Docker: run `sudo usermod -aG docker $USER` and log in again, or run as root"},
	{[]string{"cannot connect to the docker daemon", "connection refused", "is the docker daemon running"},
		"the engine has gone: look at `docker info`"},
	{[]string{"no space left on device"},
		"the engine's disk is full: look at `docker system df`"},
	{[]string{"no such image", "manifest unknown", "manifest for"},
		"build the image with `make images` or scripts/images.sh"},
	{[]string{"cgroup", "freezer"},
		"this engine can't freeze containers (rootless?): use --backend process for faults that pause a server"},
}

// explain adds a hint to an error of the engine, if there is one to give and it
// has none yet.
func explain(err error) error {
	if err == nil || hint.Of(err) != "" {
		return err
	}
	text := strings.ToLower(err.Error())
	for _, a := range advice {
		for _, w := range a.words {
			if strings.Contains(text, w) {
				return hint.Wrap(err, "%s", a.hint)
			}
		}
	}
	return err
}

// died is the error of a server that ended when it should have started.
func died(name string, code int, log []string) error {
	return hint.Wrap(fmt.Errorf("%s ended with code %d on start%s", name, code, quote(log)),
		"the server's own words are above; `docker run --rm IMAGE` shows whether the image starts at all")
}

// quote appends log lines to a message.
func quote(log []string) string {
	if len(log) == 0 {
		return " and left no log"
	}
	return "; its log ends:\n  " + strings.Join(log, "\n  ")
}
