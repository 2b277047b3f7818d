package naive

import "github.com/oversell/oversell/locks"

// constantValue compares in its release, atomically. As everybody's value is
// the same, the comparison is always true, and anybody's key is removed.
func constantValue() locks.Kind {
	return scheme{
		name: "constant-value", value: func() string { return "1" },
		take: setNX, free: compareAndDelete,
	}.kind(locks.Kind{
		Summary:    "SET NX PX of the value 1, and a compare-and-delete in Lua that is always true",
		Origin:     "the trap that the flash sale's post-mortem names first",
		Withstands: locks.WithstoodByExpiry(),
	})
}
