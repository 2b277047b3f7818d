package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Exporter serves the metrics of one invocation's runs.
type Exporter struct {
	*Runs
	*Server
}

// Export begins to serve the metrics of runs at addr, see Address, together with
// those of this process. Close it.
func Export(addr string, b Build) (*Exporter, error) {
	reg := prometheus.NewRegistry()
	runs, err := NewRuns(reg, b)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		reg.Register(collectors.NewGoCollector()),
		reg.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of the process: %w", err)
	}
	server, err := Serve(addr, reg)
	if err != nil {
		return nil, err
	}
	return &Exporter{Runs: runs, Server: server}, nil
}
