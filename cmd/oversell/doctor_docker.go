package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/docker"
	"github.com/oversell/oversell/internal/doctor"
)

// dockerDetails is doctor's look at what containers need besides an engine. It
// says nothing when there is none: the backend's own check says why.
func dockerDetails(b *docker.Backend) doctor.Check {
	return doctor.Check{Name: "docker", Look: func(ctx context.Context) []doctor.Line {
		info, err := b.Info(ctx)
		if err != nil {
			return nil
		}
		return []doctor.Line{
			{Check: "docker engine", Status: doctor.OK, Text: fmt.Sprintf("%s at %s", info.Engine, info.Endpoint)},
			{Check: "docker host", Status: doctor.OK, Text: "published ports answer at " + info.Host},
			{Check: "docker Ryuk", Status: doctor.OK, Text: info.Ryuk},
			images(info),
		}
	}}
}

// images says for which server versions there is a local image.
func images(info docker.Info) doctor.Line {
	var here, missing []string
	for _, v := range cluster.Versions() {
		if name := info.Images[v]; name != "" {
			here = append(here, v+" ("+name+")")
		} else {
			missing = append(missing, v)
		}
	}
	line := doctor.Line{Check: "docker images", Status: doctor.OK, Text: "for " + strings.Join(here, ", ")}
	if len(here) == 0 {
		line.Status, line.Text = doctor.Warn, "none of a server yet"
	}
	if len(missing) > 0 {
		line.Hint = "make images makes those of " + strings.Join(missing, ", ")
	}
	return line
}
