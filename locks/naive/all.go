// Package naive holds the locks of the incidents, and of public reports. Each
// is broken in its own way, and stays so: they are what the harness has to catch.
package naive

import "github.com/oversell/oversell/locks"

// All lists the naive kinds.
func All() []locks.Kind {
	return []locks.Kind{
		setnxExpireDel(),
		constantValue(),
		getThenDel(),
		setNXEX(),
		exsetEXCAD(),
		renewUnowned(),
		watchdogNoRetry(),
		leakyWatchdog(),
		failOpen(),
	}
}
