package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster/clustertest"
	"github.com/oversell/oversell/cluster/process"
)

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		own()
	}
	goleak.VerifyTestMain(m)
}

func TestContract(t *testing.T) {
	clustertest.Run(t, clustertest.Config{Backend: process.New(), Leftovers: leftovers})
}

// leftovers lists the folders of a run, and the processes that work in one.
func leftovers(t testing.TB, run string) []string {
	t.Helper()
	prefix := filepath.Join(os.TempDir(), "oversell-"+run+"-")
	found, err := filepath.Glob(prefix + "*")
	require.NoError(t, err)
	cwds, err := filepath.Glob("/proc/[0-9]*/cwd") // none where there is no /proc
	require.NoError(t, err)
	for _, link := range cwds {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, prefix) {
			found = append(found, link+" -> "+cwd)
		}
	}
	return found
}
