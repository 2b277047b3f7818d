package locks

import (
	"context"
	"log/slog"
	"time"
)

// LongHold is the share of the TTL from which on a hold counts as long: a
// little more, and a lock that isn't renewed is somebody else's.
const LongHold = 0.8

// Log returns an observer that writes a line for every acquire and release.
//
// What went well is logged at Info. Warn is for holds of LongHold or more, and
// for outcomes that aren't known; Error for locks that were lost, or no longer
// held when they were released: somebody else may have been inside meanwhile.
func Log(to *slog.Logger) Observer { return logger{to} }

type logger struct{ to *slog.Logger }

func (l logger) Acquired(ctx context.Context, a Acquisition) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("key", a.Key),
		slog.String("outcome", string(a.Outcome())),
		slog.Duration("waited", a.Took.Round(time.Microsecond)),
		slog.Duration("ttl", a.TTL),
	}
	if a.Err != nil {
		attrs = append(attrs, slog.String("error", a.Err.Error()))
	}
	if a.Outcome() == OutcomeUnknown {
		level = slog.LevelWarn
	}
	l.to.LogAttrs(ctx, level, "lock acquire", attrs...)
}

func (l logger) Released(ctx context.Context, h Hold) {
	attrs := []slog.Attr{
		slog.String("key", h.Key),
		slog.String("outcome", string(h.Outcome())),
		slog.Duration("held", h.Held.Round(time.Microsecond)),
		slog.Duration("ttl", h.TTL),
		slog.Float64("ratio", float64(int(h.Ratio()*1000+0.5))/1000),
	}
	if h.Renewed >= 0 {
		attrs = append(attrs, slog.Int("renewed", h.Renewed))
	}
	attrs = append(attrs, slog.Bool("lost", h.Lost))
	if h.Err != nil {
		attrs = append(attrs, slog.String("error", h.Err.Error()))
	}
	l.to.LogAttrs(ctx, levelOf(h), "lock release", attrs...)
}

func levelOf(h Hold) slog.Level {
	switch {
	case h.Lost || h.Outcome() == OutcomeNotHeld:
		return slog.LevelError
	case h.Outcome() == OutcomeUnknown || h.Ratio() >= LongHold:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
