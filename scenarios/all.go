package scenarios

// All lists every scenario, in the order in which they are shown.
func All() []Scenario {
	return []Scenario{
		ttlExpiry,
		crashBeforeExpire,
		sentinelFailover,

		lateRelease,
		repeatedRelease,
		goneAtRelease,
		lateRenewal,
		lostRenewal,
		lostCommand,
		lostReply,
		cancelledAcquire,
		stuckCall,
		pausedHolder,
		partition,
		bypass,

		frozenServer,
		serverDown,
		emptyRestart,
		flushed,
		evicted,
		clockJump,

		manualFailover,
		quorumLosesOne,
		quorumSlowOne,
		quorumLosesThree,

		shortCalls,
		killedHolder,
		scriptFlush,
		disconnected,
		fullServer,

		flashSaleReplay,
		purchaseServiceReplay,
		thousandBuyers,
	}
}
