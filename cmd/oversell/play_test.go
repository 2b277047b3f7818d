package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/internal/hint"
)

func TestWhatCannotBeRemovedNow(t *testing.T) {
	t.Parallel()
	stale := fmt.Errorf("remove network n: %w", &cluster.Leftover{Err: hint.Wrap(errors.New("has active endpoints"), "restart it")})
	for _, tc := range []struct {
		name string
		err  error
		note string // "" for an error
	}{
		{"only a stale network", fmt.Errorf("remove the servers: %w", errors.Join(stale, stale)), "has active endpoints"},
		{"a container too", errors.Join(stale, errors.New("permission denied")), ""},
		{"a container", errors.New("permission denied"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			err := h.removalError(tc.err)
			if tc.note == "" {
				var code *codeError
				require.ErrorAs(t, err, &code)
				assert.Equal(t, exitEnvironment, code.code)
				require.ErrorContains(t, err, "permission denied")
				assert.Empty(t, h.stderr.String())
				return
			}
			require.NoError(t, err)
			assert.Contains(t, h.stderr.String(), tc.note)
			assert.Contains(t, h.stderr.String(), "restart it")
		})
	}
}
