package scenarios

// All lists every scenario, in the order in which they are shown.
func All() []Scenario {
	return []Scenario{
		ttlExpiry,
		crashBeforeExpire,
		sentinelFailover,
	}
}
