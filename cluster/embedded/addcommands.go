package embedded

import "github.com/alicebob/miniredis/v2"

// AddCommands gives a started miniredis of somebody else's, such as a test's,
// the commands on locks that the embedded backend has and the library lacks.
func AddCommands(m *miniredis.Miniredis) error { return addCommands(m) }
