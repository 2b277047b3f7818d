package reports

// All lists every format, in the order in which help shows them. The first is
// what a terminal gets.
func All() []Format {
	return []Format{
		Text(),
		JSON(),
		JUnit(),
		NDJSON(),
		Markdown(),
		SARIF(),
		Trace(),
		HTML(),
	}
}

// Find returns the format of that name.
func Find(name string) (Format, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}
