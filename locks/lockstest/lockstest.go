// Package lockstest is the contract test that every lock kind passes.
//
// Run holds for all of them. What only some kinds claim, and the defects that
// others must show, are functions of their own: a kind's tests call those that
// apply to it.
package lockstest

import (
	"testing"

	"github.com/oversell/oversell/locks"
)

// test is one property of a kind.
type test struct {
	name string
	run  func(t *testing.T, b *bench)
}

// Run tests the contract of package locks: what every kind has to keep as long
// as nothing goes wrong, and what it says when it can't.
func Run(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"one holder at a time", testExclusion},
		{"release lets the next in", testNextIn},
		{"acquire after expiry", testExpiry},
		{"values are unique", testUniqueValues},
		{"the context has ended before", testEndedBefore},
		{"the context ends while waiting", testEndedWaiting},
		{"release of a key that is gone", testReleaseGone},
		{"a TTL that Redis can't keep", testShortTTL},
		{"a failover is waited out", testWaitsOutFailover},
		{"a refusal for good", testRefusedForGood},
		{"a lost reply leaves the outcome unknown", testReplyLost},
		{"a release that fails", testReleaseFails},
	})
	if k.Renews {
		run(t, k, with, []test{
			{"renewals keep the key until release", testRenewals},
			{"close ends renewals", testCloseEndsRenewals},
			{"lost when the key is taken away", testLostTaken},
			{"lost when the key is gone", testLostGone},
		})
	} else {
		run(t, k, with, []test{{"the key only ever falls", testNoRenewals}})
	}
}

// OwnerChecked tests that a kind removes no one's key but its own.
func OwnerChecked(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"release spares another's key", testSparesOthers},
		{"a doubtful key is taken back", testTakesBack},
		{"expiry comes with the key", testExpiryAtOnce},
	})
}

// BlindRelease tests the defect of a kind that deletes whatever is there.
func BlindRelease(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"release frees another's key", testFreesOthers}})
}

// TwoStepAcquire tests the defect of a kind that takes the key first, and sets
// its expiry with a second command.
func TwoStepAcquire(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"two commands", testTwoCommands},
		{"a crash in between leaves the key for ever", testCrashBetween},
	})
}

func run(t *testing.T, k locks.Kind, with World, tests []test) {
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			with(t, func(t *testing.T, e Env) { c.run(t, newBench(t, k, e)) })
		})
	}
}
