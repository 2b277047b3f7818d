package wire

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPurposeOfCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]purpose{
		"SETNX k me":              {role: Acquire, value: "me"},
		"MSETNX k me l you":       {role: Acquire, value: "me"},
		"SET k me NX PX 300":      {role: Acquire, value: "me"},
		"SET k me px 300 nx":      {role: Acquire, value: "me"},
		"SET k me NX GET EX 5":    {role: Acquire, value: "me", grant: byNil},
		"SET k nx":                {},
		"SET k me PX 300":         {},
		"SET k me XX":             {},
		"SET k me XX EX 5":        {role: Expire, value: "me"},
		"SET k me PX 300 IFEQ me": {role: Renew, value: "me"},
		"SET k me IFEQ NX":        {role: Renew, value: "me"},
		"EXPIRE k 5":              {role: Expire},
		"PEXPIRE k 5 GT":          {role: Expire},
		"EXPIREAT k 5":            {role: Expire},
		"PEXPIREAT k 5":           {role: Expire},
		"GETEX k":                 {},
		"GETEX k PERSIST":         {},
		"GETEX k px 5":            {role: Expire},
		"DEL k":                   {role: Release},
		"UNLINK k l":              {role: Release},
		"GETDEL k":                {role: Release},
		"DELEX k IFEQ me":         {role: Release, value: "me"},
		"DELEX k":                 {role: Release},
		"DELIFEQ k me":            {role: Release, value: "me"},
		"EXSET k me NX PX 300":    {role: Acquire, value: "me"},
		"EXSET k nx":              {},
		"EXCAS k me 1 PX 900":     {role: Renew, value: "me", grant: byFirst},
		"EXCAD k 2":               {role: Release, value: "2"},
		"CAS k me me PX 900":      {role: Renew, value: "me"},
		"CAD k me":                {role: Release, value: "me"},
		"GET k":                   {},
		"EVAL":                    {},
		"FCALL":                   {},
		"SCRIPT LOAD":             {},
		"FUNCTION LOAD":           {},
		"EVALSHA 0000 1 k me":     {},
	} {
		args := strings.Fields(command)
		assert.Equal(t, want, newScripts().purposeOf(args[0], args), command)
	}
}

func TestFirstKey(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"GET k": "k", "GET": "", "PING": "", "PUBLISH ch x": "", "MODULE.THING k": "",
		"EVAL text 2 k l me": "k", "EVALSHA sha 0 me": "", "EVAL text x k": "", "EVAL text": "", "EVAL text 1": "",
		"OBJECT ENCODING k": "k", "BITOP AND dest src": "dest", "ZUNION 2 k l": "k", "BLMPOP 1 2 k l LEFT": "k",
		"XREAD COUNT 1 streams k l 0 0": "k", "XREADGROUP GROUP g c STREAMS k >": "k", "XREAD": "",
	} {
		args := strings.Fields(command)
		assert.Equal(t, want, firstKey(args[0], args), command)
	}
}

// shapes are scripts as locks in the wild have them, in words of our own.
var shapes = []struct {
	name, text string
	args       []string // keys and arguments of a call, behind the script
	want       purpose
}{
	{"compare and delete",
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		[]string{"1", "k", "me"}, purpose{Release, "me", byScript}},
	{"compare through a local, three answers",
		`local v = redis.call('GET', KEYS[1]); if v == ARGV[1] then return redis.call('DEL', KEYS[1]) elseif v == false then return -1 end return 0`,
		[]string{"1", "k", "me"}, purpose{Release, "me", byScript}},
	{"compare and prolong",
		"-- renew\nif redis.pcall( 'Get',KEYS[1] )==ARGV[1] then\n  return redis.pcall('pexpire', KEYS[1], ARGV[2])\nend\nreturn 0",
		[]string{"1", "k", "me", "300"}, purpose{Renew, "me", byScript}},
	{"compare and set again",
		`if redis.call("get",KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("set",KEYS[1],ARGV[1],"XX","PX",ARGV[2])`,
		[]string{"1", "k", "me", "300"}, purpose{Renew, "me", byScript}},
	{"prolong, or take it if it is free",
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`,
		[]string{"1", "k", "me", "300"}, purpose{Acquire, "me", byScript}},
	{"set if free",
		`return redis.call('set', KEYS[1], ARGV[2], 'nx', 'px', tonumber(ARGV[1]))`,
		[]string{"1", "k", "300", "me"}, purpose{Acquire, "me", byScript}},
	{"setnx then expire",
		`if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then redis.call('expire', KEYS[1], ARGV[2]) return 1 end return 0`,
		[]string{"1", "k", "me", "5"}, purpose{Acquire, "me", byScript}},
	{"every key must be free",
		`for _, key in ipairs(KEYS) do if redis.call("exists", key) == 1 then return 0 end end
		 for _, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`,
		[]string{"2", "k", "l", "me", "300"}, purpose{Acquire, "me", byScript}},
	{"every key must be ours, then prolong",
		`for _, key in ipairs(KEYS) do if redis.call("get", key) ~= ARGV[1] then return 0 end end
		 for _, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`,
		[]string{"2", "k", "l", "me", "300"}, purpose{Renew, "me", byScript}},
	{"renew only what exists",
		`if redis.call('exists', KEYS[1]) == 0 then return 0 end if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`,
		[]string{"1", "k", "me", "300"}, purpose{Renew, "me", byScript}},
	{"renew, gone is an answer of its own",
		`local cur = redis.call('get', KEYS[1]) if not cur then return -1 end if cur == ARGV[1] then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`,
		[]string{"1", "k", "me", "300"}, purpose{Renew, "me", byScript}},
	{"ours or free, through a local",
		`local cur = redis.call('GET', KEYS[1]) if cur == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return true elseif not cur then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return true end return false`,
		[]string{"1", "k", "me", "300"}, purpose{Acquire, "me", byScript}},
	{"reentrant hash: take",
		`if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);`,
		[]string{"1", "k", "300", "me"}, purpose{Acquire, "me", byNil}},
	{"reentrant hash: prolong",
		`if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end; return 0;`,
		[]string{"1", "k", "300", "me"}, purpose{Renew, "me", byScript}},
	{"reentrant hash: give back",
		`if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; local n = redis.call('hincrby', KEYS[1], ARGV[3], -1); if (n > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0; else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;`,
		[]string{"2", "k", "ch", "0", "300", "me"}, purpose{Release, "me", byScript}},
	{"blind expiry", `return redis.call('expire', KEYS[1], ARGV[1])`, []string{"1", "k", "5"}, purpose{role: Expire, grant: byScript}},
	{"blind delete", `redis.call("del", KEYS[1])`, []string{"1", "k"}, purpose{Release, "", byScript}},
	{"through an alias", `local rcall = redis.call; if rcall("GET", KEYS[1]) == ARGV[1] then return rcall("DEL", KEYS[1]) end`,
		[]string{"1", "k", "me"}, purpose{Release, "me", byScript}},
	{"another server's name for it", `if server.call("GET", KEYS[1]) == ARGV[1] then return server.call("UNLINK", KEYS[1]) end`,
		[]string{"1", "k", "me"}, purpose{Release, "me", byScript}},
	{"compare and delete in one command", `return redis.call("DELIFEQ", KEYS[1], ARGV[1])`, []string{"1", "k", "me"}, purpose{Release, "me", byScript}},
	{"commented out", "--[[ redis.call('del', KEYS[1]) ]] -- redis.call('setnx', KEYS[1], 1)\nreturn redis.call('get', KEYS[1])",
		[]string{"1", "k"}, purpose{}},
	{"something else", `redis.call('set', KEYS[1], ARGV[1]) return redis.call('incr', KEYS[2])`, []string{"2", "k", "l", "me"}, purpose{}},
	{"takes no lock", `if redis.call('get', KEYS[1]) == false then return 0 end return redis.call('incr', KEYS[1])`, []string{"1", "k"}, purpose{}},
}

func TestPurposeOfScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range shapes {
		t.Run(tt.name, func(t *testing.T) {
			s := newScripts()
			sum := sha1.Sum([]byte(tt.text))
			digest := strings.ToUpper(hex.EncodeToString(sum[:]))
			bySHA := append([]string{"EVALSHA", digest}, tt.args...)

			require.Equal(t, purpose{}, s.purposeOf("EVALSHA", bySHA), "not known yet")
			require.Equal(t, tt.want, s.purposeOf("EVAL", append([]string{"EVAL", tt.text}, tt.args...)))
			require.Equal(t, tt.want, s.purposeOf("EVALSHA", bySHA))

			loaded := newScripts()
			loaded.purposeOf("SCRIPT", []string{"SCRIPT", "load", tt.text})
			require.Equal(t, tt.want, loaded.purposeOf("EVALSHA", bySHA))
		})
	}
}

func TestPurposeOfFunctions(t *testing.T) {
	t.Parallel()
	s := newScripts()
	s.purposeOf("FUNCTION", []string{"FUNCTION", "LOAD", "REPLACE", `#!lua name=lock
local function take(keys, args)
  return redis.call('SET', keys[1], args[1], 'NX', 'PX', args[2])
end
local free = function(keys, args)
  if redis.call('GET', keys[1]) == args[1] then return redis.call('DEL', keys[1]) end
  return 0
end
redis.register_function('take', take)
redis.register_function{function_name='free', callback=free}
redis.register_function('renew', function(keys, args)
  if redis.call('GET', keys[1]) ~= args[1] then return 0 end
  return redis.call('PEXPIRE', keys[1], args[2])
end)`})
	for name, want := range map[string]purpose{
		"take": {Acquire, "me", byScript}, "free": {Release, "me", byScript}, "renew": {Renew, "me", byScript}, "other": {},
	} {
		assert.Equal(t, want, s.purposeOf("FCALL", []string{"FCALL", name, "1", "k", "me", "300"}), name)
	}
}

func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScripts()
	s.limit = 10
	for i := range 20 {
		text := fmt.Sprintf(`return redis.call('del', 'k%d')`, i)
		require.Equal(t, Release, s.learn(text).role)
	}
	assert.Len(t, s.texts, 10)
	assert.Len(t, s.digests, 10)
}

func TestReadReply(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Reply{
		"+OK\r\n":                              {Type: '+', Text: "OK"},
		"-ERR no\r\n":                          {Type: '-', Text: "ERR no", Err: true},
		":-3\r\n":                              {Type: ':', Text: "-3"},
		"$-1\r\n":                              {Type: '$', Text: "(nil)", Nil: true},
		"*-1\r\n":                              {Type: '*', Text: "(nil)", Nil: true},
		"_\r\n":                                {Type: '_', Text: "(nil)", Nil: true},
		"$0\r\n\r\n":                           {Type: '$'},
		"#t\r\n":                               {Type: '#', Text: "true"},
		"#f\r\n":                               {Type: '#', Text: "false"},
		",1.5\r\n":                             {Type: ',', Text: "1.5"},
		"(123\r\n":                             {Type: '(', Text: "123"},
		"!6\r\nERR no\r\n":                     {Type: '!', Text: "ERR no", Err: true},
		"=6\r\ntxt:hi\r\n":                     {Type: '=', Text: "hi"},
		"*3\r\n$1\r\na\r\n*1\r\n:1\r\n_\r\n":   {Type: '*', Text: "[a [1] (nil)]"},
		"%1\r\n+a\r\n:1\r\n":                   {Type: '%', Text: "{a: 1}"},
		"~1\r\n+a\r\n":                         {Type: '~', Text: "[a]"},
		"*9\r\n" + strings.Repeat(":1\r\n", 9): {Type: '*', Text: "[1 1 1 1 1 1 1 1 ...]"},
		"$?\r\n;1\r\na\r\n;0\r\n":              {Type: '$', Text: "(streamed)"},
	} {
		want.Size = len(in)
		assert.Equal(t, want, readReply([]byte(in), int64(len(in))), "%q", in)
	}
	assert.Equal(t, Reply{}, readReply(nil, 0))
}

// FuzzReadReply: no head of a frame, whole or broken off, makes it panic, and
// what a person reads is short.
func FuzzReadReply(f *testing.F) {
	for _, frame := range frames {
		f.Add([]byte(frame[:min(len(frame), 1000)]))
	}
	for _, broken := range []string{"", "$", "*", "$5", "*2\r\n$1", "%1\r\n"} {
		f.Add([]byte(broken))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		r := readReply(head, int64(len(head)))
		for _, g := range []grant{byReply, byNil, byFirst, byScript} {
			for _, at := range []int{-1, 0, 1} {
				_ = r.judge(g, at, head).Granted()
			}
		}
		_, _ = firstWord(head), channelOf(head)
		require.LessOrEqual(t, len(r.Text), maxText+3)
	})
}

func TestGranted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply string
		grant grant
		at    int
		want  bool
	}{
		{"+OK\r\n", byReply, -1, true},
		{"+QUEUED\r\n", byReply, -1, false},
		{":1\r\n", byReply, -1, true},
		{":0\r\n", byReply, -1, false},
		{":-1\r\n", byReply, -1, false},
		{"$-1\r\n", byReply, -1, false},
		{"_\r\n", byReply, -1, false},
		{"#t\r\n", byReply, -1, true},
		{"#f\r\n", byReply, -1, false},
		{"-ERR no\r\n", byReply, -1, false},
		{"$-1\r\n", byNil, -1, true},
		{"$2\r\nme\r\n", byNil, -1, false},
		{":300\r\n", byNil, -1, false},
		{"-NOSCRIPT\r\n", byNil, -1, false},
		{"*3\r\n+OK\r\n$0\r\n\r\n:2\r\n", byFirst, -1, true},
		{"*3\r\n-ERR stale\r\n$1\r\nx\r\n:1\r\n", byFirst, -1, false},
		{"*3\r\n$10\r\nCAS_FAILED\r\n$1\r\nx\r\n:1\r\n", byFirst, -1, false},
		{":-1\r\n", byFirst, -1, false},
		{"*2\r\n:1\r\n:300\r\n", byScript, -1, true},
		{"*2\r\n:0\r\n:300\r\n", byScript, -1, false},
		{"*0\r\n", byScript, -1, false},
		{":1\r\n", byScript, -1, true},
		{"*2\r\n:5\r\n+OK\r\n", byReply, 1, true},
		{"*2\r\n:5\r\n$-1\r\n", byReply, 1, false},
		{"*2\r\n:5\r\n$-1\r\n", byNil, 1, true},
		{"*1\r\n:5\r\n", byReply, 1, false},
		{"*-1\r\n", byNil, 0, false},
	} {
		got := readReply([]byte(tt.reply), 0).judge(tt.grant, tt.at, []byte(tt.reply))
		assert.Equal(t, tt.want, got.Granted(), "%q %d %d", tt.reply, tt.grant, tt.at)
	}
	assert.False(t, Reply{}.Granted())
}
