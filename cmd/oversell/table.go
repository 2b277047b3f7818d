package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table is one of the lists, in words: the same for the terminal and for the README.
type table struct {
	noun   string // "scenarios"
	header []string
	rows   [][]string
	items  any // for JSON
}

func writeTables(w io.Writer, tables []table, format string) error {
	var b strings.Builder
	switch format {
	case "json":
		doc := map[string]any{}
		for _, t := range tables {
			doc[t.noun] = t.items
		}
		return writeJSON(w, doc)
	case "markdown":
		for i, t := range tables {
			if i > 0 {
				b.WriteString("\n")
			}
			t.markdown(&b)
		}
	default:
		for i, t := range tables {
			if i > 0 {
				b.WriteString("\n")
			}
			t.text(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes aligned columns below the header in capitals.
func (t table) text(b *strings.Builder) {
	wide := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	for n, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if n == 0 {
				cell = strings.ToUpper(cell)
			}
			fmt.Fprintf(&line, "%-*s  ", wide[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// markdown writes a table; the first column is code.
func (t table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(t.header, " | "), strings.Repeat(" --- |", len(t.header)))
	for _, row := range t.rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		cells[0] = "`" + cells[0] + "`"
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}
