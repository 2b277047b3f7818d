package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/oversell/oversell/internal/hint"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"ttl-expiry", "crash-before-expire", "sentinel-failover"}
	for word, want := range map[string]string{
		"ttl-expiry":        "ttl-expiry",
		"ttl-expire":        "ttl-expiry",
		"tll-expiry":        "ttl-expiry",
		"TTL-Expiry":        "ttl-expiry",
		"sentinal-failover": "sentinel-failover",
		"failover":          "sentinel-failover",
		"crash":             "crash-before-expire",
		"weather":           "",
		"":                  "",
	} {
		assert.Equal(t, want, nearest(word, names), "for %q", word)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 0, distance("safe", "safe"))
	assert.Equal(t, 1, distance("safe", "saef"), "neighbours swapped")
	assert.Equal(t, 1, distance("safe", "safes"))
	assert.Equal(t, 4, distance("", "safe"))
	assert.Equal(t, 3, distance("kitten", "sitting"))
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[a-d]{0,8}`).Draw(t, "a")
		b := rapid.StringMatching(`[a-d]{0,8}`).Draw(t, "b")
		d := distance(a, b)
		assert.Equal(t, d, distance(b, a), "the distance is the same both ways")
		assert.LessOrEqual(t, d, max(len(a), len(b)))
		assert.Equal(t, a == b, d == 0)
	})
}

func TestUnknownListsTheNamesWhenNoneIsNear(t *testing.T) {
	t.Parallel()
	err := unknown("lock", "weather", []string{"naive", "safe"})
	assert.EqualError(t, err, `unknown lock "weather"`)
	assert.Equal(t, "choose from naive, safe", hint.Of(err))
	assert.Equal(t, `did you mean "naive"?`, hint.Of(unknown("lock", "nave", []string{"naive", "safe"})))
}
