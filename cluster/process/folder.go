package process

import (
	"context"

	"github.com/oversell/oversell/internal/folder"
)

// Leftovers lists the temporary folders of this user's runs that died without
// removing them. Their servers died with them.
func (b *Backend) Leftovers(ctx context.Context) ([]string, error) { return folder.Leftovers(ctx) }

// Clean removes the leftovers of dead runs and returns what it removed. What
// living runs are using, here or elsewhere, is left alone.
func (b *Backend) Clean(ctx context.Context) (removed []string, err error) { return folder.Clean(ctx) }
