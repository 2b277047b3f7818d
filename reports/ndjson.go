package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/oversell/oversell/result"
)

// NDJSON is a line for each run, written as soon as the run is judged.
func NDJSON() Format {
	return Format{
		Name:    "ndjson",
		Ext:     "ndjson",
		Summary: "one JSON object a line for each run, as soon as it is judged (" + result.LineSchema + ")",
		Write: func(w io.Writer, runs []result.Run, opts Options) error {
			for _, r := range runs {
				if err := writeLine(w, r, opts); err != nil {
					return err
				}
			}
			return nil
		},
		Each: writeLine,
	}
}

// writeLine writes a line in one go, so that whoever follows the file never
// sees half of one.
func writeLine(w io.Writer, r result.Run, _ Options) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result.Line{Schema: result.LineSchema, Run: withoutNulls(r)}); err != nil {
		return fmt.Errorf("encode a result as JSON: %w", err)
	}
	return flush(w, &buf)
}
