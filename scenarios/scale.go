package scenarios

import (
	"reflect"
	"slices"
	"time"

	"github.com/oversell/oversell/faults"
)

// AtTimeScale returns s with its durations as they are when time goes by scale
// times faster than in the incident that s replays. A scenario that replays
// none takes its own durations for the real ones. How short a TTL may be stays
// as it is: that is about the machine.
func (s Scenario) AtTimeScale(scale float64) Scenario {
	was := s.TimeScale
	if was == 0 {
		was = 1
	}
	factor := was / scale
	times := func(d time.Duration) time.Duration { return time.Duration(factor * float64(d)) }
	for _, d := range []*time.Duration{
		&s.Load.TTL, &s.Load.Call, &s.Load.RetryEvery, &s.Load.StallAfter, &s.Load.Linger,
	} {
		*d = times(*d)
	}
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		st := &s.Steps[i]
		st.When.At, st.For = times(st.When.At), times(st.For)
		st.Do = scaleFault(st.Do, times)
	}
	s.TimeScale = scale
	return s
}

// scaleFault returns f with its durations changed; what it counts in TTLs
// follows the TTL by itself.
func scaleFault(f faults.Fault, times func(time.Duration) time.Duration) faults.Fault {
	v := reflect.New(reflect.TypeOf(f)).Elem()
	v.Set(reflect.ValueOf(f))
	if v.Kind() != reflect.Struct {
		return f
	}
	for i := range v.NumField() {
		if d, ok := v.Field(i).Interface().(time.Duration); ok {
			v.Field(i).SetInt(int64(times(d)))
		}
	}
	return v.Interface().(faults.Fault)
}
