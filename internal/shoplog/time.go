package shoplog

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

const rfc3339 = "rfc3339"

// unixUnits are the formats that count from 1970, with the nanoseconds of one.
var unixUnits = map[string]int64{
	"unix": int64(time.Second), "unix_ms": int64(time.Millisecond), "unix_us": int64(time.Microsecond), "unix_ns": 1,
}

// TimeFormats lists the words for formats.
func TimeFormats() []string { return []string{rfc3339, "unix", "unix_ms", "unix_us", "unix_ns"} }

func knownFormat(f string) bool {
	return slices.Contains(TimeFormats(), f) || strings.Contains(f, "2006") && strings.Contains(f, "04")
}

// readTime reads a field's text in a format.
func readTime(text, format string) (time.Time, error) {
	if unit, ok := unixUnits[format]; ok {
		n, ok := new(big.Rat).SetString(text) // a float64 has no nanoseconds of 1970 left
		if !ok || len(text) > 40 || strings.ContainsAny(text, "/eE") {
			return time.Time{}, fmt.Errorf("%q is no number", text)
		}
		n.Mul(n, new(big.Rat).SetInt64(unit))
		whole := new(big.Int).Quo(n.Num(), n.Denom())
		if !whole.IsInt64() {
			return time.Time{}, fmt.Errorf("%q is no time in this age", text)
		}
		return time.Unix(0, whole.Int64()), nil
	}
	layout := format
	if format == rfc3339 {
		layout = time.RFC3339Nano
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time", text)
	}
	return at, nil
}
