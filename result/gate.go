package result

// Gate is verdict against expectation.
type Gate string

// The outcomes of a gate.
const (
	Pass           Gate = "pass"
	Fail           Gate = "fail"
	GateUnresolved Gate = "inconclusive"
)

// Expectation is what a run must come to: ok, not-ok, or one verdict by name.
type Expectation string

// The two expectations that follow from what a lock claims to withstand.
const (
	ExpectOK    Expectation = "ok"
	ExpectNotOK Expectation = "not-ok"
)

// ParseExpectation reads ok, not-ok or the name of a verdict that can be
// expected; inconclusive can't be.
func ParseExpectation(s string) (Expectation, bool) {
	if s == string(ExpectNotOK) {
		return ExpectNotOK, true
	}
	v := Verdict(s)
	if v.rank() < 0 || v == Inconclusive {
		return "", false
	}
	return Expectation(s), true
}

// Expectations lists the words that ParseExpectation accepts.
func Expectations() []string {
	words := []string{string(ExpectOK), string(ExpectNotOK)}
	for _, v := range Verdicts() {
		if v.Violation() {
			words = append(words, string(v))
		}
	}
	return words
}

// Judge compares a verdict with the expectation. An inconclusive verdict
// leaves the gate unresolved whatever was expected. A lock that was expected
// to break and didn't fails the gate: the harness did not provoke it.
func (e Expectation) Judge(v Verdict) Gate {
	switch {
	case v == Inconclusive:
		return GateUnresolved
	case e == ExpectNotOK && v.Violation(), string(e) == string(v):
		return Pass
	default:
		return Fail
	}
}

// WorstGate returns fail before inconclusive before pass. No gates at all are
// inconclusive: nothing was tested.
func WorstGate(gs ...Gate) Gate {
	if len(gs) == 0 {
		return GateUnresolved
	}
	worst := Pass
	for _, g := range gs {
		switch {
		case g == Fail:
			return Fail
		case g != Pass:
			worst = GateUnresolved
		}
	}
	return worst
}
