package naive

import "github.com/oversell/oversell/locks"

// setNXEX repairs one half of setnx-expire-del: a crash no longer leaves the
// key for ever. DEL still removes whatever is there.
func setNXEX() locks.Kind {
	return scheme{name: "set-nx-ex", take: setNX, free: del}.kind(locks.Kind{
		Summary:    "SET NX with an expiry, and a DEL that doesn't ask whose lock it is",
		Origin:     "what setnx-expire-del becomes when only the crash is thought of",
		Withstands: locks.WithstoodByExpiry(),
	})
}
