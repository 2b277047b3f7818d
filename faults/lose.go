package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/oversell/oversell/result"
	"github.com/oversell/oversell/wire"
)

// Lose loses what stands at the trigger's point on the wire: a command before
// it reaches the server, or a reply after the server has executed its command.
// As with a lost TCP segment, nothing more gets through on that connection.
type Lose struct{}

// Name implements Fault.
func (Lose) Name() string { return "lose" }

// Summary implements Fault.
func (Lose) Summary() string {
	return "a command is lost before it reaches the server, or a reply after the server executed its command"
}

// Available implements Fault: every backend can play it.
func (Lose) Available(Target) error { return nil }

// Inject returns at once.
func (f Lose) Inject(_ context.Context, t Target) (result.Evidence, Heal, error) {
	return answer(f, t, wire.Drop, "lost")
}

// Cut closes the connection on which the trigger's point stands, on both sides
// and at once: what stands there is lost, and its sender knows that something was.
type Cut struct{}

// Name implements Fault.
func (Cut) Name() string { return "cut" }

// Summary implements Fault.
func (Cut) Summary() string { return "the connection breaks at exactly this command or reply" }

// Available implements Fault: every backend can play it.
func (Cut) Available(Target) error { return nil }

// Inject returns at once.
func (f Cut) Inject(_ context.Context, t Target) (result.Evidence, Heal, error) {
	return answer(f, t, wire.Cut, "lost, with its connection")
}

var errNotOnTheWire = errors.New("faults: this fault needs a trigger at a point on the wire")

// answer lets the wire do a to what stands at the moment's point.
func answer(f Fault, t Target, a wire.Action, what string) (result.Evidence, Heal, error) {
	x := t.Moment.Exchange
	if x == nil || t.Moment.Answer == nil {
		return result.Evidence{}, nil, errNotOnTheWire
	}
	t.Moment.Answer(a)
	return proof(f, t, "%s was %s", subject(x), what), nil, nil
}

// subject says what stands on the wire: "the SETNX of instance 2, on its way to
// redis," or "the reply "1" of redis to the SETNX of instance 2".
func subject(x *wire.Exchange) string {
	if x.Answered > 0 {
		return fmt.Sprintf("the reply %q of %s to the %s of instance %d", x.Reply.Text, x.Server, x.Name, x.Instance)
	}
	return fmt.Sprintf("the %s of instance %d, on its way to %s,", x.Name, x.Instance, x.Server)
}
