package docker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/oversell/oversell/internal/hint"
)

// Logs implements cluster.Node. The log goes through all lives of the container.
func (n *node) Logs(ctx context.Context, lines int) ([]string, error) {
	if lines <= 0 {
		return nil, nil
	}
	text, err := n.log(ctx, strconv.Itoa(lines))
	if err != nil {
		return nil, err
	}
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(list) == 1 && list[0] == "" {
		return nil, nil
	}
	return list[max(0, len(list)-lines):], nil
}

// log returns the last lines of the log, or "all" of them.
func (n *node) log(ctx context.Context, tail string) (string, error) {
	r, err := n.launch.engine.api.ContainerLogs(ctx, n.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Tail: tail,
	})
	if err != nil {
		return "", fmt.Errorf("read log of %s: %w", n.name, err)
	}
	defer func() { _ = r.Close() }()
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, r); err != nil {
		return "", fmt.Errorf("read log of %s: %w", n.name, err)
	}
	return text.String(), nil
}

// lastWords is the end of the log, for an error: without it if it can't be had,
// and also when ctx has ended.
func (n *node) lastWords(ctx context.Context) []string {
	const lines, patience = 5, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	list, _ := n.Logs(ctx, lines)
	return list
}

// unreachable is the error of a server that runs and can't be reached.
func (n *node) unreachable(ctx context.Context, cause error) error {
	return hint.Wrap(fmt.Errorf("%w%s", cause, quote(n.lastWords(ctx))),
		"servers are published on the loopback of the machine that runs Docker, and were looked for on %s: "+
			"run oversell on that machine, or set %s", strings.Join(n.launch.engine.hosts(context.WithoutCancel(ctx)), ", "), hostVariable)
}

// saveLog writes the whole log to the spec's directory.
func (n *node) saveLog(ctx context.Context) error {
	text, err := n.log(ctx, "all")
	if err != nil {
		return err
	}
	dir := n.launch.spec.LogDir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save log of %s: %w", n.name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, n.name+".log"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("save log of %s: %w", n.name, err)
	}
	return nil
}
