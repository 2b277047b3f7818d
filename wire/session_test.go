package wire

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dialogue plays a conversation over a wire and compares which commands were
// seen to be answered, with which replies. Each step is what the client sends
// and what the server answers to it.
func dialogue(t *testing.T, steps [][2]string, want ...string) {
	t.Helper()
	seen := &recorder{}
	_, client, server := pair(t, seen.handle)
	for _, step := range steps {
		if step[0] != "" {
			client.send(step[0])
			server.expect(step[0])
		}
		server.send(step[1])
		client.expect(step[1])
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	var got []string
	for i, x := range seen.seen {
		if seen.at[i] == OnReply {
			got = append(got, strings.Join(x.Args, " ")+" -> "+x.Reply.Text)
		}
	}
	require.Equal(t, want, got)
}

func bulks(typ string, words ...string) string {
	var b strings.Builder
	for _, w := range words {
		if strings.HasPrefix(w, ":") {
			b.WriteString(w + "\r\n")
			continue
		}
		b.WriteString("$" + strconv.Itoa(len(w)) + "\r\n" + w + "\r\n")
	}
	return typ + strconv.Itoa(len(words)) + "\r\n" + b.String()
}

func TestSubscribedInRESP2(t *testing.T) {
	t.Parallel()
	dialogue(t, [][2]string{
		{"LRANGE l 0 -1\r\n", bulks("*", "message", "not", "one")},
		{"SUBSCRIBE a b\r\n", bulks("*", "subscribe", "a", ":1")},
		{"", bulks("*", "message", "a", "early")},
		{"", bulks("*", "subscribe", "b", ":2")},
		{"PING\r\n", bulks("*", "message", "b", "x") + bulks("*", "pong", "")},
		{"PSUBSCRIBE p*\r\n", bulks("*", "psubscribe", "p*", ":3")},
		{"", bulks("*", "pmessage", "p*", "px", "x")},
		{"UNSUBSCRIBE\r\n", bulks("*", "unsubscribe", "a", ":2") + bulks("*", "unsubscribe", "b", ":1")},
		{"PUNSUBSCRIBE p* q\r\n", bulks("*", "punsubscribe", "p*", ":0") + bulks("*", "punsubscribe", "q", ":0")},
		{"UNSUBSCRIBE\r\n", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"},
		{"LRANGE l 0 -1\r\n", bulks("*", "message", "not", "one")},
	},
		"LRANGE l 0 -1 -> [message not one]",
		"SUBSCRIBE a b -> [subscribe a 1]",
		"PING -> [pong ]",
		"PSUBSCRIBE p* -> [psubscribe p* 3]",
		"UNSUBSCRIBE -> [unsubscribe a 2]",
		"PUNSUBSCRIBE p* q -> [punsubscribe p* 0]",
		"UNSUBSCRIBE -> [unsubscribe (nil) 0]",
		"LRANGE l 0 -1 -> [message not one]",
	)
}

func TestSubscribedInRESP3(t *testing.T) {
	t.Parallel()
	dialogue(t, [][2]string{
		{"HELLO 3\r\n", "%1\r\n$5\r\nproto\r\n:3\r\n"},
		{"SSUBSCRIBE s\r\n", bulks(">", "ssubscribe", "s", ":1")},
		{"GET k\r\n", bulks(">", "smessage", "s", "x") + "$1\r\nv\r\n"},
		{"", bulks(">", "invalidate", "k")},
		{"LRANGE l 0 -1\r\n", bulks("*", "message", "not", "one")},
		{"", bulks(">", "sunsubscribe", "s", ":0")}, // the server's own idea
		{"PING\r\n", "+PONG\r\n"},
	},
		"HELLO 3 -> {proto: 3}",
		"SSUBSCRIBE s -> [ssubscribe s 1]",
		"GET k -> v",
		"LRANGE l 0 -1 -> [message not one]",
		"PING -> PONG",
	)
}

func TestSubscribeRefused(t *testing.T) {
	t.Parallel()
	dialogue(t, [][2]string{
		{"SUBSCRIBE a b\r\n", "-NOPERM no\r\n"},
		{"MULTI\r\n", "+OK\r\n"},
		{"SUBSCRIBE a b\r\n", "+QUEUED\r\n"},
		{"DISCARD\r\n", "+OK\r\n"},
	},
		"SUBSCRIBE a b -> NOPERM no", "MULTI -> OK", "SUBSCRIBE a b -> QUEUED", "DISCARD -> OK")
}

func TestMonitor(t *testing.T) {
	t.Parallel()
	line := "+1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"\r\n"
	dialogue(t, [][2]string{
		{"MONITOR\r\n", "+OK\r\n" + line + line},
		{"PING\r\n", line + "+PONG\r\n" + line},
		{"RESET\r\n", "+RESET\r\n"},
		{"ECHO 1\r\n", "+1\r\n"},
	},
		"MONITOR -> OK", "PING -> PONG", "RESET -> RESET", "ECHO 1 -> 1")
}

func TestClientReplyOffAndSkip(t *testing.T) {
	t.Parallel()
	dialogue(t, [][2]string{
		{"CLIENT REPLY SKIP\r\nSET a 1\r\nGET a\r\n", "$1\r\n1\r\n"},
		{"client reply off\r\nSET a 2\r\nCLIENT REPLY SKIP\r\nSET a 3\r\nCLIENT REPLY ON\r\n", "+OK\r\n"},
		{"GET a\r\n", "$1\r\n3\r\n"},
		{"CLIENT REPLY OFF\r\nSET a 2\r\nRESET\r\n", "+RESET\r\n"},
		{"CLIENT REPLY MAYBE\r\n", "-ERR syntax error\r\n"},
		{"MULTI\r\nCLIENT REPLY OFF\r\nDISCARD\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n"},
		{"GET a\r\n", "$1\r\n3\r\n"},
	},
		"GET a -> 1", "CLIENT REPLY ON -> OK", "GET a -> 3", "RESET -> RESET",
		"CLIENT REPLY MAYBE -> ERR syntax error", "MULTI -> OK", "CLIENT REPLY OFF -> QUEUED", "DISCARD -> OK", "GET a -> 3")
}

func TestAttributesAndUnaskedReplies(t *testing.T) {
	t.Parallel()
	dialogue(t, [][2]string{
		{"", "+unasked\r\n"},
		{"GET k\r\n", "|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n"},
		{"", "*1\r\n+more\r\n"},
		{"\r\nGET k\r\n", "$-1\r\n"},
	},
		"GET k -> v", "GET k -> (nil)")
}

func TestTransactionHasTheRoleOfItsWeightiestCommand(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]bool{
		"*3\r\n+OK\r\n:1\r\n:1\r\n":      true,
		"*3\r\n*1\r\n:1\r\n:0\r\n:1\r\n": false,
		"*-1\r\n":                        false,
		"-EXECABORT no\r\n":              false,
	} {
		seen := &recorder{}
		_, client, server := pair(t, seen.handle)
		commands := "MULTI\r\nGET x\r\nSETNX k me\r\nEXPIRE k 5\r\nEXEC\r\n"
		client.send(commands)
		server.expect(commands)
		server.send("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" + reply)
		client.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" + reply)
		exec := seen.named(OnReply, "EXEC")[0]
		assert.Equal(t, Acquire, exec.Role)
		assert.Equal(t, "k", exec.Key)
		assert.Equal(t, "me", exec.Value)
		assert.Equal(t, want, exec.Reply.Granted(), "%q", reply)
		queued := seen.named(OnReply, "SETNX")[0]
		assert.Equal(t, Other, queued.Role)
		assert.False(t, queued.Reply.Granted())
	}
}
