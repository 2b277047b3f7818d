// Package hint attaches to an error the one thing its reader can do next.
package hint

import (
	"errors"
	"fmt"
)

// Error is an error with a hint for the person who reads it.
type Error struct {
	Err  error
	Hint string // one sentence without a final newline: what to do next
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.Err }

// Wrap adds a hint to err. It returns nil when err is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err, Hint: fmt.Sprintf(format, args...)}
}

// Of returns the outermost hint in err's chain, or "" when there is none.
func Of(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
