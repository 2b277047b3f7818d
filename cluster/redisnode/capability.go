package redisnode

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
)

// probe is how a capability is found out: a server has it when it executes all
// of every one of these alternatives' commands. None of them changes anything:
// they are about a key and a value that nobody has.
type probe [][]any

// probes asks by trying, since a simulated server may know commands of which
// its COMMAND INFO says nothing.
func probes(key, value string) map[cluster.Capability][]probe {
	return map[cluster.Capability][]probe{
		cluster.TairEXSET: {{{"EXGET", key}, {"EXCAD", key, 1}}},
		cluster.TairCAS:   {{{"CAS", key, value, value}, {"CAD", key, value}}},
		cluster.NativeCAS: {
			{{"SET", key, value, "IFEQ", value}, {"DELEX", key, "IFEQ", value}},
			{{"SET", key, value, "IFEQ", value}, {"DELIFEQ", key, value}},
		},
		cluster.Tracking: {{{"CLIENT", "GETREDIR"}}},
	}
}

// Lacks asks n for a capability. It returns "" when n has it, else why n hasn't,
// which is what it answered; an error when it gave no answer.
func Lacks(ctx context.Context, n cluster.Node, c cluster.Capability) (why string, err error) {
	alternatives, ok := probes("oversell:probe:"+rand.Text(), rand.Text())[c]
	if !ok {
		return "", fmt.Errorf("ask %s for %s: no such capability", n.Name(), c)
	}
	err = With(ctx, n, func(ctx context.Context, client *redis.Client) error {
		for _, p := range alternatives {
			if why, err = p.try(ctx, client); err != nil || why == "" {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", n.Name(), c, err)
	}
	return why, nil
}

// try returns "" when every command was executed, else the first refusal.
func (p probe) try(ctx context.Context, c *redis.Client) (refusal string, err error) {
	for _, args := range p {
		err := c.Do(ctx, args...).Err()
		switch {
		case err == nil, err == redis.Nil:
		case Refused(err):
			return fmt.Sprintf("%s: %s", args[0], shortRefusal(err)), nil
		default:
			return "", err
		}
	}
	return "", nil
}

// shortRefusal leaves out the arguments, which servers repeat.
func shortRefusal(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", with args beginning with")
	return strings.TrimSpace(text)
}
