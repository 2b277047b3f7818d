package faults

// All lists every fault with the settings that the scenarios use most, in the
// order in which they are shown.
func All() []Fault {
	return []Fault{
		SlowCall{TTLs: 1.5},
		HoldOvertaker{TTLs: 0.9},
		HoldUntilNext{TTLs: 0.9},
		Outlast{Sales: 3},
		KillInstance{},
		PauseInstance{TTLs: 2, Sales: 3},
		Cancel{},
		Lose{},
		Cut{},
		DelayUntilTaken{TTLs: 2},
		RepeatRelease{TTLs: 2},
		Partition{TTLs: 1.5, Sales: 3},
		Disconnect{},
		FreezeServer{TTLs: 2, Sales: 3},
		KillServer{},
		RestartServer{},
		SlowServers{Nodes: 1, TTLs: 1.5},
		CutReplication{},
		KillMaster{},
		Failover{},
		Flush{},
		FlushScripts{},
		Evict{},
		FillMemory{},
		ClockJump{TTLs: 1},
		Bypass{},
	}
}
