package result

// The names in Run.ServerInfo: what a dashboard of the lock's server showed
// while the load was on. Values are numbers. A name whose value couldn't be
// had is left out; others may join later.
const (
	InfoCPU         = "cpu_percent"    // of one core
	InfoMemory      = "memory_bytes"   // used by data and buffers, at its highest
	InfoSlowLog     = "slowlog_length" // entries that the run added
	InfoConnections = "connections"    // clients connected, at their most
	InfoCommands    = "commands_per_s" // on average
)
