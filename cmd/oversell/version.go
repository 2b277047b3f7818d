package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// build is what `oversell version` tells.
type build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Modified bool     `json:"modified,omitempty"` // built from a tree with changes
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Modules  []module `json:"modules"`
}

type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// telling lists the modules whose version matters when a run is looked at again.
var telling = []string{
	"github.com/redis/go-redis/v9",
	"github.com/testcontainers/testcontainers-go",
	"github.com/tidwall/redcon",
	"github.com/alicebob/miniredis/v2",
}

// readBuild reads what the Go tool has left in the binary.
func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: []module{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if slices.Contains(telling, d.Path) {
			b.Modules = append(b.Modules, module{d.Path, d.Version})
		}
	}
	return b
}

func (b build) text(w io.Writer) {
	fmt.Fprintf(w, "oversell %s\n", b.Version)
	if b.Commit != "" {
		changes := ""
		if b.Modified {
			changes = " with changes"
		}
		fmt.Fprintf(w, "commit %s%s\n", b.Commit, changes)
	}
	fmt.Fprintf(w, "%s %s\n", b.Go, b.Platform)
	for _, m := range b.Modules {
		fmt.Fprintf(w, "%s %s\n", m.Path, m.Version)
	}
}

func newVersionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "What this program was built from",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if asJSON {
				return writeJSON(a.out, b)
			}
			b.text(a.out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// writeJSON writes v as an indented document.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
