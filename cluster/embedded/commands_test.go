package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oversell/oversell/cluster/embedded"
)

// step is a command and its reply, or a pause.
type step struct {
	command, reply string
	pass           time.Duration
}

// What the added commands do is what the pages about them say: no server that
// has them all is at hand to compare with.
var addedSteps = map[string][]step{
	"DELIFEQ": {
		{command: "DELIFEQ k a", reply: ":0"}, {command: "SET k a", reply: "+OK"}, {command: "DELIFEQ k b", reply: ":0"},
		{command: "GET k", reply: "$1\r\na"}, {command: "DELIFEQ k a", reply: ":1"}, {command: "EXISTS k", reply: ":0"},
		{command: "DELIFEQ k", reply: "-ERR wrong number of arguments for 'delifeq' command"}, {command: "DELIFEQ k a b", reply: "-ERR syntax error"},
	},
	"SET with a condition": {
		{command: "SET k a IFEQ a", reply: "_"}, {command: "SET k a IFNE b PX 50", reply: "+OK"}, {command: "SET k b IFEQ a PX 90", reply: "+OK"},
		{command: "PTTL k", reply: ":90"}, {command: "SET k c IFEQ a", reply: "_"}, {command: "GET k", reply: "$1\r\nb"},
		{command: "SET k c IFNE b", reply: "_"}, {command: "SET k c GET IFEQ b KEEPTTL", reply: "$1\r\nb"}, {command: "PTTL k", reply: ":90"},
		{pass: 90 * time.Millisecond}, {command: "EXISTS k", reply: ":0"}, {command: "SET k a IFEQ", reply: "-ERR syntax error"},
		{command: "SET k a IFEQ b NX", reply: "-ERR syntax error"}, {command: "SET k IFEQ", reply: "+OK"}, {command: "SET k a IFEQ IFEQ PX 0", reply: "-ERR invalid expire time"},
	},
	"CAS and CAD": {
		{command: "CAS k a b", reply: ":-1"}, {command: "CAD k a", reply: ":-1"}, {command: "SET k a", reply: "+OK"}, {command: "CAS k x b", reply: ":0"},
		{command: "CAS k a b PX 50", reply: ":1"}, {command: "PTTL k", reply: ":50"}, {command: "CAD k a", reply: ":0"}, {command: "CAD k b", reply: ":1"},
		{command: "CAS k a b PX x", reply: "-ERR invalid expire time"}, {command: "CAS k a b SOON", reply: "-ERR syntax error"},
	},
	"EXSET and EXGET": {
		{command: "EXGET k", reply: "_"}, {command: "EXSET k a NX PX 50 WITHVERSION", reply: ":1"}, {command: "EXSET k b NX", reply: "_"},
		{command: "EXGET k", reply: "*2\r\n$1\r\na\r\n:1"}, {command: "PTTL k", reply: ":50"}, {command: "EXSET k b VER 2", reply: "-ERR update version is stale"},
		{command: "EXSET k b VER 1 KEEPTTL", reply: "+OK"}, {command: "PTTL k", reply: ":50"}, {command: "EXGET k", reply: "*2\r\n$1\r\nb\r\n:2"},
		{command: "EXSET k c ABS 9 FLAGS 1", reply: "+OK"}, {command: "PTTL k", reply: ":-1"}, {command: "EXGET k", reply: "*2\r\n$1\r\nc\r\n:9"},
		{command: "EXSET gone c XX", reply: "_"}, {command: "EXSET k c NX XX", reply: "-ERR syntax error"}, {command: "EXSET k c EX 1 PX 1", reply: "-ERR syntax error"},
		{command: "EXSETVER k 3", reply: ":1"}, {command: "EXSETVER gone 3", reply: ":0"}, {command: "EXGET k", reply: "*2\r\n$1\r\nc\r\n:3"},
	},
	"EXCAS and EXCAD": {
		{command: "EXCAS k a 1", reply: ":-1"}, {command: "EXCAD k 1", reply: ":-1"}, {command: "EXSET k a", reply: "+OK"}, {command: "EXCAD k 2", reply: ":0"},
		{command: "EXCAS k b 2", reply: "*3\r\n$27\r\nERR update version is stale\r\n$1\r\na\r\n:1"}, {command: "EXCAS k b 1 PX 50", reply: "*3\r\n$2\r\nOK\r\n$0\r\n\r\n:2"},
		{command: "PTTL k", reply: ":50"}, {command: "EXCAD k 2", reply: ":1"}, {command: "EXISTS k", reply: ":0"}, {command: "EXCAD k x", reply: "-ERR value is not an integer or out of range"},
	},
	"what can't be done": {
		{command: "EVAL return(redis.pcall('CAD',KEYS[1],'a')) 1 k", reply: "-ERR this simulated server can't run CAD in a script or a transaction"},
		{command: "MULTI", reply: "+OK"}, {command: "CAD k a", reply: "-ERR this simulated server can't run CAD in a script or a transaction"}, {command: "DISCARD", reply: "+OK"},
	},
}

func TestAddedCommands(t *testing.T) {
	for name, steps := range addedSteps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, err := embedded.NewSimulated()
				require.NoError(t, err)
				defer sim.Close()
				c := sim.Session()
				c.Do(nil, []string{"HELLO", "3"})
				for _, s := range steps {
					if s.pass > 0 {
						time.Sleep(s.pass)
						continue
					}
					assert.Equal(t, s.reply+"\r\n", string(c.Do(nil, words(s.command))), s.command)
				}
			})
		})
	}
}
