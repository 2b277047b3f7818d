// Package archtest keeps the rule that imports point one way.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/oversell/oversell"

// small are packages of a few functions that any package may use; they use no
// other package of the project.
var small = []string{"internal/hint", "internal/child", "internal/folder", "internal/printable", "internal/stats"}

// base are the packages that know nothing above them.
var base = []string{"result", "history", "cluster", "inventory"}

// mayImport says which packages of the project each package may import,
// besides the small ones. A package in a folder below one of these, such as
// cluster/docker, needs a line of its own. "*" stands for anything.
var mayImport = map[string][]string{
	"result":               {},
	"history":              {},
	"cluster":              {"history", "result"},
	"inventory":            {"history", "result"},
	"locks":                base,
	"wire":                 {"history"},
	"faults":               append([]string{"wire", "cluster/redisnode"}, base...),
	"checks":               base,
	"metrics":              append([]string{"locks"}, base...),
	"reports":              append([]string{"internal/timeline"}, base...),
	"scenarios":            append([]string{"faults"}, base...),
	"instance":             append([]string{"locks"}, base...),
	"locks/naive":          append([]string{"locks"}, base...),
	"locks/safe":           append([]string{"locks"}, base...),
	"locks/peers":          append([]string{"locks"}, base...),
	"cluster/redisnode":    base,
	"cluster/docker":       append([]string{"cluster/redisnode"}, base...),
	"cluster/process":      append([]string{"cluster/redisnode"}, base...),
	"cluster/embedded":     append([]string{"cluster/redisnode"}, base...),
	"cluster/remote":       append([]string{"cluster/redisnode"}, base...),
	"inventory/redisstore": base,
	"inventory/pgstore":    base,
	"inventory/pgserver":   append([]string{"inventory/pgstore"}, base...),

	"internal/engine":    append([]string{"checks", "faults", "instance", "locks", "scenarios", "wire", "cluster/redisnode"}, base...),
	"internal/explore":   append([]string{"checks", "faults", "instance", "locks", "scenarios", "wire", "cluster/embedded", "cluster/redisnode"}, base...),
	"internal/live":      base,
	"internal/doctor":    base,
	"internal/diagnose":  append([]string{"cluster/redisnode"}, base...),
	"internal/hint":      {},
	"internal/child":     {},
	"internal/folder":    {},
	"internal/printable": {},
	"internal/stats":     {},
	"internal/sweep":     append([]string{"faults", "scenarios"}, base...),
	"internal/matrix":    base,
	"internal/shoplog":   base,
	"internal/timeline":  {"history"},
	"internal/retrace":   append([]string{"checks", "internal/timeline"}, base...),
	"cmd/oversell":       {"*"},
}

// forTests reports whether a package is there for tests alone. It may import
// what it likes, and only tests and its like may import it.
func forTests(name string) bool { return strings.HasSuffix(name, "test") }

// onlyIn keeps a library in the one folder that is about it.
var onlyIn = map[string]string{
	"github.com/testcontainers/testcontainers-go": "cluster/docker",
	"github.com/moby/moby":                        "cluster/docker",
	"github.com/alicebob/miniredis/v2":            "cluster/embedded",
	"github.com/jackc/pgx/v5":                     "inventory/pgstore",
	"github.com/spf13/cobra":                      "cmd/oversell",
	"github.com/prometheus/client_golang":         "metrics",
	"github.com/owenrumney/go-sarif/v3":           "reports",
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// listed is what `go list` says of every package of the module, by its path
// within the module.
func listed(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list: %s", stderr.String())
	packages := map[string]goPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages[strings.TrimPrefix(p.ImportPath, module+"/")] = p
	}
}

func TestImportsPointOneWay(t *testing.T) {
	packages := listed(t)
	require.Contains(t, packages, "cmd/oversell", "go list sees the whole module")
	for name, p := range packages {
		if forTests(name) {
			continue
		}
		allowed, known := mayImport[name]
		if !assert.Truef(t, known, "%s is new: say in mayImport what it may import", name) {
			continue
		}
		for _, imported := range p.Imports {
			inner, ours := strings.CutPrefix(imported, module+"/")
			if !ours || slices.Contains(small, inner) {
				continue
			}
			assert.Falsef(t, forTests(inner), "%s must not import %s: that is for tests", name, inner)
			if slices.Contains(allowed, "*") {
				continue
			}
			assert.Containsf(t, allowed, inner, "%s must not import %s", name, inner)
		}
	}
}

func TestLibrariesStayInTheirFolder(t *testing.T) {
	for name, p := range listed(t) {
		if forTests(name) {
			continue
		}
		for _, imported := range p.Imports {
			for library, home := range onlyIn {
				if imported == library || strings.HasPrefix(imported, library+"/") {
					assert.Equalf(t, home, name, "%s must not import %s: that stays in %s", name, imported, home)
				}
			}
		}
	}
}

// A rule that nothing could break would prove nothing.
func TestTheRulesAreTold(t *testing.T) {
	for _, lower := range base {
		for _, upper := range []string{"locks", "faults", "checks", "reports", "wire", "internal/engine"} {
			assert.NotContains(t, mayImport[lower], upper)
		}
	}
	for _, kept := range []string{"locks/naive", "locks/safe", "locks/peers", "reports", "cluster/docker", "inventory/redisstore"} {
		assert.NotContains(t, mayImport["internal/engine"], kept)
		assert.NotContains(t, mayImport["internal/explore"], kept)
	}
	for _, lock := range []string{"locks", "locks/safe", "locks/naive", "locks/peers", "internal/engine"} {
		assert.NotContains(t, mayImport[lock], "metrics", "who only locks or plays needs no Prometheus")
	}
}
