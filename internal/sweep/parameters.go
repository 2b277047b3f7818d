package sweep

import (
	"errors"
	"time"

	"github.com/oversell/oversell/faults"
	"github.com/oversell/oversell/scenarios"
)

// Parameters lists what can be swept.
func Parameters() []Parameter {
	return []Parameter{
		{
			Name: "ttl", Summary: "the lock's TTL; slow calls, pauses and outages stay as long as they are",
			SafeAbove: true, Flag: "ttl", put: putTTL,
		},
		{
			Name: "call", Summary: "how long slow calls take; where a scenario has none, the ordinary ones",
			put: putCall,
		},
		{
			Name: "pause", Summary: "how long the holder or the server stands still",
			put: putPause,
		},
		{
			Name: "clients", Summary: "concurrent buyers over all instances",
			Counts: true, Flag: "buyers", put: putClients,
		},
	}
}

// putTTL changes the TTL alone. What the world does lasts as long as before,
// although faults count it in TTLs.
func putTTL(s *scenarios.Scenario, v Value) error {
	ttl := time.Duration(v)
	factor := float64(s.Load.TTL) / float64(ttl)
	for i, st := range s.Steps {
		s.Steps[i].Do = stretch(st.Do, factor)
	}
	s.Load = s.Load.WithTTL(ttl)
	return nil
}

// stretch makes what the world does last factor times as many TTLs. The bounds
// of faults that only wait for somebody are about the lock, and stay.
func stretch(f faults.Fault, factor float64) faults.Fault {
	switch f := f.(type) {
	case faults.SlowCall:
		f.TTLs *= factor
		return f
	case faults.PauseInstance:
		f.TTLs *= factor
		return f
	case faults.FreezeServer:
		f.TTLs *= factor
		return f
	case faults.SlowServers:
		f.TTLs *= factor
		return f
	case faults.Partition:
		f.TTLs *= factor
		return f
	case faults.ClockJump:
		f.TTLs *= factor
		return f
	}
	return f
}

func putCall(s *scenarios.Scenario, v Value) error {
	slowed := false
	for i, st := range s.Steps {
		if f, ok := st.Do.(faults.SlowCall); ok {
			f.TTLs, slowed = ttls(s, v), true
			s.Steps[i].Do = f
		}
	}
	if !slowed {
		s.Load.Call = time.Duration(v)
	}
	return nil
}

// putPause sets exact pauses: they don't wait for others to sell.
func putPause(s *scenarios.Scenario, v Value) error {
	paused := false
	for i, st := range s.Steps {
		switch f := st.Do.(type) {
		case faults.PauseInstance:
			f.TTLs, f.Sales, paused = ttls(s, v), 0, true
			s.Steps[i].Do = f
		case faults.FreezeServer:
			f.TTLs, f.Sales, paused = ttls(s, v), 0, true
			s.Steps[i].Do = f
		}
	}
	if !paused {
		return errors.New("nothing in it stands still: paused-holder and frozen-server have such pauses")
	}
	return nil
}

func putClients(s *scenarios.Scenario, v Value) error {
	s.Load.Buyers = int(v)
	s.Load.Instances = min(s.Load.Instances, s.Load.Buyers)
	return nil
}

func ttls(s *scenarios.Scenario, v Value) float64 { return float64(v) / float64(s.Load.TTL) }
