package faults

// All lists every fault with the settings that the scenarios use most, in the
// order in which they are shown.
func All() []Fault {
	return []Fault{
		SlowCall{TTLs: 1.5},
		HoldOvertaker{TTLs: 0.9},
		Outlast{Sales: 3},
		KillInstance{},
		CutReplication{},
		KillMaster{},
	}
}
