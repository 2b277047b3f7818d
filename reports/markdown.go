package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oversell/oversell/internal/printable"
	"github.com/oversell/oversell/result"
)

// maxMarkdown is how long a report in Markdown gets at most. Build servers
// refuse the summary of a job beyond a megabyte.
const maxMarkdown = 900 << 10

// Markdown is for the summary of a job: the gate, a table, and every run's
// story folded away.
func Markdown() Format {
	return Format{
		Name:    "md",
		Ext:     "md",
		Summary: "Markdown for the summary of a job: the gate, a table, details folded; never more than 900 KiB",
		Write:   writeMarkdown,
	}
}

// writeMarkdown leaves out what is beyond the limit, and says so: the table has
// the runs that matter most, and so have the details.
func writeMarkdown(w io.Writer, runs []result.Run, opts Options) error {
	limit := maxMarkdown
	if opts.Bytes > 0 {
		limit = min(limit, opts.Bytes)
	}
	runs = scrub(runs, forTerminal)
	var buf bytes.Buffer
	writeMarkdownHead(&buf, runs)
	tail := markdownTail(runs)
	if room := limit - buf.Len() - len(tail); room > 0 {
		writeMarkdownTable(&buf, runs, room/2)
	}
	if room := limit - buf.Len() - len(tail); room > 0 {
		writeMarkdownDetails(&buf, runs, room)
	}
	buf.WriteString(tail)
	if buf.Len() > limit {
		buf.Reset()
		fmt.Fprintf(&buf, "## oversell: %s\n", strings.ToUpper(gateName(result.NewDocument(runs).Gate)))
	}
	return flush(w, &buf)
}

func writeMarkdownHead(buf *bytes.Buffer, runs []result.Run) {
	gate := result.NewDocument(runs).Gate
	why := printable.Cut(whyGate(gate, runs), maxProse)
	fmt.Fprintf(buf, "## oversell: %s\n\n%s.\n", strings.ToUpper(gateName(gate)), markdown(why))
	if simulated := simulatedWords(runs); simulated != "" {
		fmt.Fprintf(buf, "\n**%s**\n", markdown(simulated))
	}
	sum, lines := sinceBaseline(runs)
	if sum == "" {
		return
	}
	fmt.Fprintf(buf, "\n%s.\n\n", markdown(sum))
	for i, line := range lines {
		if i == maxStory {
			fmt.Fprintf(buf, "- ... and %d more\n", len(lines)-i)
			break
		}
		fmt.Fprintf(buf, "- %s\n", markdown(strings.Join(strings.Fields(line), " ")))
	}
}

// worstFirst orders runs by what a reader has to see first.
func worstFirst(runs []result.Run) []result.Run {
	weight := map[result.Gate]int{result.Fail: 0, result.GateUnresolved: 1, result.Pass: 2}
	return slices.SortedStableFunc(slices.Values(runs), func(a, b result.Run) int {
		return cmp.Compare(weight[result.WorstGate(a.Counted())], weight[result.WorstGate(b.Counted())])
	})
}

const markdownColumns = "\n| scenario | lock | server | expected | verdict | gate | sold | stock | left | two holders | fence refused | time |\n" +
	"| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"

// writeMarkdownTable has a row for each run, in the order in which they were
// played, or worst first when not all of them fit.
func writeMarkdownTable(buf *bytes.Buffer, runs []result.Run, room int) {
	rows, size := markdownRows(runs)
	if len(rows) == 0 {
		return
	}
	if size > room {
		rows, _ = markdownRows(worstFirst(runs))
	}
	buf.WriteString(markdownColumns)
	for i, row := range rows {
		if room -= len(row); room < 0 {
			fmt.Fprintf(buf, "\n... and %d more runs, none of them worse.\n", len(rows)-i)
			return
		}
		buf.WriteString(row)
	}
}

func markdownRows(runs []result.Run) (rows []string, size int) {
	for _, r := range runs {
		cells := []string{
			r.Scenario, lockName(r), r.Server, string(r.Expected), string(r.Verdict), gateName(r.Gate),
			fmt.Sprint(r.Sold), fmt.Sprint(r.Stock.Initial), fmt.Sprint(r.Stock.Left),
			fmt.Sprint(r.DoubleHolds), fmt.Sprint(r.FenceRefused), seconds(r.DurationMS),
		}
		if r.Trials > 1 {
			cells[4] += fmt.Sprintf(" (%d/%d)", r.Violations, r.Trials-r.Inconclusive)
		}
		for i, c := range cells {
			cells[i] = markdown(c)
		}
		if r.Gate != result.Pass {
			cells[5] = "**" + cells[5] + "**"
		}
		row := "| " + strings.Join(cells, " | ") + " |\n"
		rows, size = append(rows, row), size+len(row)
	}
	return rows, size
}

// writeMarkdownDetails folds away the story of every run that has one, worst
// first.
func writeMarkdownDetails(buf *bytes.Buffer, runs []result.Run, room int) {
	const ending = 200 // for the line that counts what was left out
	left := 0
	for _, r := range worstFirst(runs) {
		if plain(r) {
			continue
		}
		text := markdownDetail(r)
		if left > 0 || len(text) > room-ending {
			left++
			continue
		}
		room -= len(text)
		buf.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(buf, "\nThe details of %s are left out for want of room; the other reports have them.\n", plural(left, "run"))
	}
}

func markdownDetail(r result.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n<pre>\n", markdown(fmt.Sprintf("%s, %s: %s", r.Scenario, lockName(r), asExpected(r))))
	lines := []string{counts(r), place(r)}
	for _, s := range sections(r) {
		lines = append(lines, "", s.title+":")
		for _, line := range s.lines {
			lines = append(lines, "  "+line)
		}
	}
	if r.Dir != "" {
		lines = append(lines, "", "Files: "+r.Dir)
	}
	b.WriteString(html.EscapeString(strings.Join(lines, "\n")))
	b.WriteString("\n</pre>\n</details>\n")
	return b.String()
}

// markdownTail is the commands that repeat the runs.
func markdownTail(runs []result.Run) string {
	commands := commandsOf(runs)
	if len(commands) == 0 {
		return ""
	}
	text := html.EscapeString(strings.Join(commands, "\n"))
	if len(text) > maxMarkdown/4 {
		return "\nThe commands that repeat the runs are too long for this summary; the other reports have them.\n"
	}
	return "\nTo repeat:\n\n<pre>\n" + text + "\n</pre>\n"
}

// markdown makes a line of printable text stand for itself: nothing in it is
// taken for markup, a cell's border, a link or a mention.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case strings.ContainsRune(`<>&"'`, r):
			b.WriteString(html.EscapeString(string(r)))
		case strings.ContainsRune("\\`*_{}[]|~#$!", r):
			b.WriteString(`\` + string(r))
		case r == '@',
			r == ':' && rest != "" && rest[0] != ' ',
			r == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			fmt.Fprintf(&b, "&#%d;", r) // mentions, emoji, and addresses that become links
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
