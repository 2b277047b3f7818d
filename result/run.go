package result

// Schema names the JSON document that Document marshals to. It only changes
// when a field changes its meaning or goes away.
const Schema = "oversell.result/v1"

// LineSchema names a Line, in the same way.
const LineSchema = "oversell.run/v1"

// Line is one run as `oversell run --output ndjson` prints it.
type Line struct {
	Schema string `json:"schema"`
	Run
}

// Document is the whole of what `oversell run --output json` prints.
type Document struct {
	Schema string `json:"schema"`
	Gate   Gate   `json:"gate"`
	Runs   []Run  `json:"runs"`
}

// NewDocument joins runs under their worst gate.
func NewDocument(runs []Run) Document {
	gates := make([]Gate, len(runs))
	for i, r := range runs {
		gates[i] = r.Counted()
	}
	if runs == nil {
		runs = []Run{}
	}
	return Document{Schema: Schema, Gate: WorstGate(gates...), Runs: runs}
}

// Run is the outcome of one scenario under one lock kind. With several trials
// it describes the trial that decided the gate, and Trials and Violations
// count them all.
type Run struct {
	Scenario  string      `json:"scenario"`
	Hazard    Hazard      `json:"hazard"`
	Lock      string      `json:"lock"`  // the kind's name
	Alias     string      `json:"alias"` // "" when the kind has none
	Backend   string      `json:"backend"`
	Server    string      `json:"server"` // e.g. "Redis 7.0.15"
	Simulated bool        `json:"simulated"`
	Expected  Expectation `json:"expected"`
	Verdict   Verdict     `json:"verdict"`
	Gate      Gate        `json:"gate"`
	Stock     Stock       `json:"stock"`

	Sold         int `json:"sold"`          // orders in the inventory
	Oversold     int `json:"oversold"`      // orders beyond the initial stock
	LostUpdates  int `json:"lost_updates"`  // commits that overwrote a stock they had not read
	DoubleHolds  int `json:"double_holds"`  // acquisitions while another holder was definitely inside
	FenceRefused int `json:"fence_refused"` // commits that the fence turned away

	Trials       int             `json:"trials"`
	Violations   int             `json:"violations"`   // trials whose verdict is a violation
	Inconclusive int             `json:"inconclusive"` // trials from which nothing can be concluded
	Verdicts     map[Verdict]int `json:"verdicts"`     // trials by their verdict
	Rate         Rate            `json:"rate"`         // of violations, among the trials that came to a conclusion

	TTLMS  float64 `json:"ttl_ms"` // the lock's TTL
	Calls  Calls   `json:"calls"`
	Renews bool    `json:"renews"` // the lock renews its key
	Fenced bool    `json:"fenced"` // the inventory refused whoever was overtaken

	Evidence   []Evidence     `json:"evidence"`
	Findings   []Finding      `json:"findings"`
	Story      []string       `json:"story"` // what happened, in plain words with times
	ServerInfo map[string]any `json:"server_info"`
	Seed       int64          `json:"seed"`
	DurationMS int64          `json:"duration_ms"`
	Dir        string         `json:"dir"`
	Command    string         `json:"command"` // repeats the run

	Baseline *Baseline `json:"baseline,omitempty"` // how it compares with an earlier invocation; nil without one
}

// Rate is how often something happened, and the exact interval (Clopper and
// Pearson) for how often it happens. Without trials the interval is all of 0 to 1.
type Rate struct {
	Share      float64 `json:"share"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // of the interval, such as 0.95
}

// Calls sums up the business calls that came to their end.
type Calls struct {
	Count int     `json:"count"`
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// Stock is counted in units.
type Stock struct {
	Initial int `json:"initial"`
	Left    int `json:"left"`
}

// Evidence is the proof that a fault really happened.
type Evidence struct {
	Fault string `json:"fault"`
	Proof string `json:"proof"`
	AtMS  int64  `json:"at_ms"` // since the run's start
}

// Finding is one broken property, with the events that prove it.
type Finding struct {
	Property Property `json:"property"`
	Verdict  Verdict  `json:"verdict"` // what this finding alone makes of the run; OK when it is harmless
	Text     string   `json:"text"`
	Events   []int64  `json:"events"` // numbers of events in history.jsonl
	// Voids says that the other findings of this run can't be trusted either,
	// such as when the machine itself stood still.
	Voids bool `json:"voids,omitempty"`
}

// VerdictOf is the verdict that follows from findings.
func VerdictOf(findings []Finding) Verdict {
	vs := make([]Verdict, 0, len(findings))
	for _, f := range findings {
		if f.Voids {
			return Inconclusive
		}
		vs = append(vs, f.Verdict)
	}
	return Worst(vs...)
}
