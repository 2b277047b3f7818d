package main

import (
	"fmt"
	"os"

	"github.com/oversell/oversell/internal/hint"
	"github.com/oversell/oversell/scenarios"
)

// readScenario reads a scenario of the user's own. Whatever is wrong with it is
// a usage error, with line and column where there are any.
func readScenario(path string) (scenarios.Scenario, error) {
	file, err := os.Open(path)
	if err != nil {
		return scenarios.Scenario{}, hint.Wrap(&codeError{exitUsage, fmt.Errorf("--file: %w", err)},
			"oversell list scenario %s --output yaml > mine.yaml makes one to begin with", defaultScenario)
	}
	defer file.Close()
	s, err := scenarios.ReadYAML(file, path)
	if err != nil {
		return s, hint.Wrap(&codeError{exitUsage, err}, "oversell list schema describes the file, and oversell list faults and hazards say what there is")
	}
	return s, nil
}
