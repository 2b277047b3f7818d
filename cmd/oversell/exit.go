package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/oversell/oversell/internal/hint"
)

// The exit codes. Scripts depend on them: they never change their meaning.
const (
	exitMet          = 0
	exitViolation    = 1
	exitUsage        = 2
	exitEnvironment  = 3
	exitInconclusive = 4
	exitInternal     = 5
	exitInterrupted  = 130
)

// exitCodes explains each code in one line, for `oversell help exit-codes` and the README.
var exitCodes = []struct {
	Code    int
	Meaning string
}{
	{exitMet, "gate met: every run came to what was expected of its lock"},
	{exitViolation, "violation: a run came to something else; this includes a broken lock that survived"},
	{exitUsage, "usage: a command, flag or value is wrong; nothing was started"},
	{exitEnvironment, "environment: no server to test on, or a folder that can't be written"},
	{exitInconclusive, "inconclusive: nothing can be concluded, such as when a fault left no evidence or the servers were simulated"},
	{exitInternal, "internal error: oversell itself failed"},
	{exitInterrupted, "interrupted by a signal; everything that was started is removed, the histories are kept"},
}

// codeError is an error that knows with which code the program ends.
type codeError struct {
	code int
	err  error // nil: the reason has been told already, as by a report
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// usagef makes a usage error. Add a hint with hint.Wrap around what it returns.
func usagef(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

// environment marks err as a shortcoming of the machine. It returns nil for nil.
func environment(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitEnvironment, err}
}

// exitWith ends the program with code without a further word.
func exitWith(code int) error {
	if code == exitMet {
		return nil
	}
	return &codeError{code: code}
}

// conclude prints err, if it has something to say, and returns the exit code.
func conclude(stderr io.Writer, err error) int {
	if err == nil {
		return exitMet
	}
	code := exitInternal
	var ce *codeError
	if errors.As(err, &ce) {
		code = ce.code
		if ce.err == nil {
			return code
		}
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if h := hint.Of(err); h != "" {
		fmt.Fprintf(stderr, "hint: %s\n", h)
	}
	return code
}
