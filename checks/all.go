package checks

// All lists every check, in the order in which findings are shown.
func All() []Check {
	return []Check{
		reconciliation(),
		exclusion(),
		fence(),
		progress(),
		leak(),
		truth(),
		assumptions(),
	}
}
