//go:build !linux

package explore

import (
	"errors"
	"os"
)

// region is memory that processes share. There is none on this system, where
// goroutines explore side by side instead.
type region struct{ file *os.File }

var errNoRegion = errors.New("explore: processes can't share memory on this system")

func newRegion() (*region, error)          { return nil, errNoRegion }
func openRegion(*os.File) (*region, error) { return nil, errNoRegion }
func (m *region) close()                   {}
func (g *graph) liesIn(*region)            {}
func acquire(*uint32)                      {}
func release(*uint32)                      {}
