package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/oversell/oversell/history"
	"github.com/oversell/oversell/result"
)

// The addresses that a SARIF file names.
const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homePage    = "https://github.com/oversell/oversell"
)

// SARIF is for code scanning: a result for every gate that isn't met. A lock
// that broke as it was expected to is none, so that it raises no alert.
func SARIF() Format {
	return Format{
		Name:    "sarif",
		Ext:     "sarif",
		Summary: "SARIF 2.1.0 for code scanning: a result for each gate that isn't met, at the events that prove it",
		Write:   writeSARIF,
	}
}

// The rules that aren't verdicts.
const (
	ruleSurvived  = "survived"
	ruleDifferent = "unexpected"
)

// sarifRules are all rules, whatever the runs came to: a code scanner tells by
// them which problems are gone.
var sarifRules = []struct{ id, text string }{
	{string(result.Oversold), "More units were sold than there were."},
	{string(result.Mismatch), "Orders and the stock left differ from the initial stock."},
	{string(result.Stalled), "Demand and stock were left, and nobody could buy within the bound."},
	{string(result.Leaked), "A renewal or a key outlived its purchase."},
	{string(result.Misreported), "The lock told its caller something untrue."},
	{string(result.Inconclusive), "Nothing can be concluded from the run."},
	{ruleSurvived, "A lock that was expected to break survived: the run has provoked nothing, and proves nothing about other locks."},
	{ruleDifferent, "The run came to something else than was expected."},
}

func writeSARIF(w io.Writer, runs []result.Run, _ Options) error {
	runs = scrub(runs, forTerminal)
	doc := sarif.NewReport()
	doc.Schema = sarifSchema
	scan := sarif.NewRunWithInformationURI("oversell", homePage)
	for _, rule := range sarifRules {
		scan.AddRule(rule.id).WithShortDescription(sarif.NewMultiformatMessageString().WithText(rule.text))
	}
	for _, c := range commandsOf(runs) {
		scan.AddInvocation(sarif.NewInvocation().WithExecutionSuccessful(true).WithCommandLine(c))
	}
	for _, r := range runs {
		if r.Gate != result.Pass {
			scan.AddResult(sarifResult(scan, r))
		}
	}
	doc.AddRun(scan)
	var buf bytes.Buffer
	if err := doc.PrettyWrite(&buf); err != nil {
		return fmt.Errorf("encode the results as SARIF: %w", err)
	}
	buf.WriteByte('\n')
	return flush(w, &buf)
}

// sarifRule is the rule that r breaks.
func sarifRule(r result.Run) string {
	switch {
	case r.Gate != result.Fail:
		return string(result.Inconclusive)
	case r.Verdict == result.OK:
		return ruleSurvived
	case slices.Contains(result.Verdicts(), r.Verdict):
		return string(r.Verdict)
	}
	return ruleDifferent
}

func sarifResult(scan *sarif.Run, r result.Run) *sarif.Result {
	rule := sarifRule(r)
	level := sarif.LevelError
	if r.Gate != result.Fail {
		level = sarif.LevelWarning
	}
	out := sarif.NewRuleResult(rule).WithRuleIndex(scan.GetRuleIndex(rule)).WithLevel(level)
	out.WithMessage(sarif.NewTextMessage(fmt.Sprintf("%s: %s (%s). To repeat: %s", r.Scenario, reason(r), counts(r), r.Command)))
	where, more := sarifPlaces(r)
	out.Locations, out.RelatedLocations = []*sarif.Location{where}, list(more)
	out.PartialFingerprints = map[string]string{"oversellRun/v1": fingerprint(r.Scenario, r.Lock, rule)}
	if state := sarifStates[stateOf(r)]; state != "" {
		out.WithBaselineState(state)
	}
	if r.Baseline != nil && r.Baseline.Accepted {
		out.AddSuppression(sarif.NewSuppression().WithKind("external").WithStatus("accepted").
			WithJustification("it was there before, and --fail-on new lets that pass"))
	}
	return out
}

var sarifStates = map[result.State]string{result.New: "new", result.Still: "unchanged"}

func stateOf(r result.Run) result.State {
	if r.Baseline == nil {
		return ""
	}
	return r.Baseline.State
}

// fingerprint is the same for the same problem, in this run and in later ones.
func fingerprint(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s,", len(w), w)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// sarifPlaces are the first event that proves r's worst finding, and more
// events. An event's number is its line in the history.
func sarifPlaces(r result.Run) (first *sarif.Location, more []*sarif.Location) {
	lines := []int64{1}
	if worst := worstFinding(r); worst != nil && len(worst.Events) > 0 {
		lines = worst.Events[:min(len(worst.Events), maxEvents)]
	}
	for i, line := range lines {
		l := sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation(historyURI(r))).
			WithRegion(sarif.NewRegion().WithStartLine(int(max(line, 1)))))
		if i > 0 {
			more = append(more, l.WithID(i).WithMessage(sarif.NewTextMessage(fmt.Sprintf("event %d", line))))
			continue
		}
		l.AddLogicalLocation(sarif.NewLogicalLocation().WithName(r.Lock).
			WithFullyQualifiedName(r.Scenario + "/" + r.Lock).WithKind("function"))
		first = l
	}
	return first, more
}

func worstFinding(r result.Run) *result.Finding {
	if len(r.Findings) == 0 {
		return nil
	}
	worst := slices.MinFunc(r.Findings, func(a, b result.Finding) int { return weight(a) - weight(b) })
	return &worst
}

// historyURI is where a run's history is: relative to the folder in which
// oversell ran, unless the run's own folder was named in full.
func historyURI(r result.Run) string {
	path := filepath.ToSlash(filepath.Join(r.Dir, history.EventsFile))
	if filepath.IsAbs(path) {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}
