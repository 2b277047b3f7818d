// Package lockstest is the contract test that every lock kind passes.
//
// Run holds for all of them. What only some kinds claim, and the defects that
// others must show, are functions of their own: a kind's tests call those that
// apply to it. A kind that runs on one server and on five is tested on both.
package lockstest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/locks"
)

// test is one property of a kind.
type test struct {
	name string
	run  func(t *testing.T, b *bench)
}

// Run tests the contract of package locks: what every kind has to keep as long
// as nothing goes wrong.
func Run(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"one holder at a time", testExclusion},
		{"release lets the next in", testNextIn},
		{"acquire after expiry", testExpiry},
		{"the context has ended before", testEndedBefore},
		{"the context ends while waiting", testEndedWaiting},
		{"release of a key that is gone", testReleaseGone},
		{"a TTL that Redis can't keep", testShortTTL},
		{"a release that fails", testReleaseFails},
	})
	if k.Renews {
		run(t, k, with, []test{
			{"renewals keep the key until release", testRenewals},
			{"close ends renewals", testCloseEndsRenewals},
		})
	} else {
		run(t, k, with, []test{{"the key only ever falls", testNoRenewals}})
	}
}

// Basics is the part of Run that doesn't depend on how a kind waits, nor on what
// it says about a release: for libraries that tell neither.
func Basics(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"one holder at a time", testExclusionOfTheImpatient},
		{"the context has ended before", testEndedBefore},
		{"a TTL that Redis can't keep", testShortTTL},
	})
	if k.Renews {
		run(t, k, with, []test{{"renewals keep the key until release", testRenewals}})
	}
}

// Errors tests that a kind tells a refusal, which is definite, from an answer
// that never came, which isn't.
func Errors(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"a failover is waited out", testWaitsOutFailover},
		{"a refusal for good", testRefusedForGood},
		{"a lost reply leaves the outcome unknown", testReplyLost},
	})
}

// OneStep tests that a kind never has a key without an expiry.
func OneStep(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"expiry comes with the key", testExpiryAtOnce}})
}

// OwnerChecked tests that a kind removes no one's key but its own.
func OwnerChecked(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"values are unique", testUniqueValues},
		{"release spares another's key", testSparesOthers},
		{"release spares another of its kind", testSparesItsKind},
	})
}

// TakesBack tests that a kind removes what it was perhaps granted.
func TakesBack(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{{"a doubtful key is taken back", testTakesBack}})
}

// NoticesLoss tests that a kind that renews says Lost, in time, and renews no
// one's key but its own.
func NoticesLoss(t *testing.T, k locks.Kind, with World) {
	run(t, k, with, []test{
		{"lost when the key is taken away", testLostTaken},
		{"lost when another of its kind has the key", testLostToItsKind},
		{"lost when the key is gone", testLostGone},
		{"lost when the servers are out of reach", testCutOff},
		{"lost when nobody renews any more", testCloseIsNoticed},
		{"a renewal that fails is tried again", testTriesAgain},
	})
}

// Safe tests everything that a kind of package safe claims.
func Safe(t *testing.T, k locks.Kind, with World) {
	Run(t, k, with)
	Errors(t, k, with)
	OneStep(t, k, with)
	OwnerChecked(t, k, with)
	TakesBack(t, k, with)
	if k.Renews {
		NoticesLoss(t, k, with)
	}
	if slices.Contains(k.Topologies, cluster.Quorum) {
		Majority(t, k, with)
		Decisive(t, k, with)
	}
}

// Majority tests what a kind makes of independent masters.
func Majority(t *testing.T, k locks.Kind, with World) {
	runOn(t, k, with, 5, []test{
		{"a minority is not enough", testMinorityTaken},
		{"a majority is enough", testMajorityFree},
		{"masters that don't answer", testMastersOutOfReach},
		{"release reaches masters that never answered", testReleaseReachesAll},
	})
	if k.Renews {
		runOn(t, k, with, 5, []test{
			{"a minority forgets the key", testMinorityForgets},
			{"a majority forgets the key", testMajorityForgets},
		})
	}
}

// Decisive tests that a kind on independent masters goes by the majority
// alone, and tidies up behind a caller who has gone.
func Decisive(t *testing.T, k locks.Kind, with World) {
	runOn(t, k, with, 5, []test{
		{"a slow master holds nobody up", testSlowMaster},
		{"a minority is given back when the context ends", testMinorityGivenBack},
	})
}

// sizes are the numbers of servers on which k is tested.
func sizes(k locks.Kind) []int {
	var n []int
	if slices.Contains(k.Topologies, cluster.Single) {
		n = append(n, 1)
	}
	if slices.Contains(k.Topologies, cluster.Quorum) {
		n = append(n, 5)
	}
	return n
}

func run(t *testing.T, k locks.Kind, with World, tests []test) {
	for _, n := range sizes(k) {
		runOn(t, k, with, n, tests)
	}
}

func runOn(t *testing.T, k locks.Kind, with World, servers int, tests []test) {
	for _, c := range tests {
		name := c.name
		if servers > 1 {
			name = fmt.Sprintf("on %d: %s", servers, c.name)
		}
		t.Run(name, func(t *testing.T) {
			with(t, servers, func(t *testing.T, e Env) {
				skipUnlessAble(t, k, e)
				c.run(t, newBench(t, k, e))
			})
		})
	}
}
