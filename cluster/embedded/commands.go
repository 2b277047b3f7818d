package embedded

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// addCommands gives a started server the commands on locks that the library
// lacks: SET with IFEQ and IFNE (Redis 8.4), DELIFEQ (Valkey 9), and of Tair
// CAS and CAD on strings, EXSET, EXGET, EXSETVER, EXCAS and EXCAD on values with
// a version. Each is one Lua script, so it is atomic. None of them works inside
// of a script or a transaction, and says so.
func addCommands(m *miniredis.Miniredis) error {
	srv := m.Server()
	for _, c := range addedCommands {
		handle := func(p *server.Peer, name string, args []string) { c.run(srv, p, name, args) }
		if err := srv.Register(c.name, handle); err != nil {
			return fmt.Errorf("add %s to the simulated server: %w", c.name, err)
		}
	}
	srv.SetPreHook(preHook(srv))
	return nil
}

// preHook executes what the library would do otherwise.
func preHook(srv *server.Server) server.Hook {
	return func(p *server.Peer, name string, args ...string) bool {
		if name == "TTL" && len(args) == 1 && !nested(p) {
			ttl.run(srv, p, name, args)
			return true
		}
		if name != "SET" || len(args) < 4 || !hasCondition(args[2:]) {
			return false
		}
		setIf.run(srv, p, name, args)
		return true
	}
}

// added is one command: parse turns its arguments into those of the script,
// the first of which is the key.
type added struct {
	name   string
	least  int // arguments
	script string
	parse  func(args []string) ([]string, error)
}

var addedCommands = []added{
	{"DELIFEQ", 2, `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`, exactly(2)},
	{"CAD", 2, `local v = redis.call('GET', KEYS[1])
		if not v then return -1 end
		if v ~= ARGV[1] then return 0 end
		return redis.call('DEL', KEYS[1])`, exactly(2)},
	{"CAS", 3, `local v = redis.call('GET', KEYS[1])
		if not v then return -1 end
		if v ~= ARGV[1] then return 0 end
		redis.call('SET', KEYS[1], unpack(ARGV, 2))
		return 1`, compareAndSet},
	{"EXSET", 2, exsetScript, exset},
	{"EXGET", 1, `local v = redis.call('HMGET', KEYS[1], 'value', 'version')
		if not v[1] then return false end
		return {v[1], tonumber(v[2])}`, exactly(1)},
	{"EXSETVER", 2, `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
		redis.call('HSET', KEYS[1], 'version', ARGV[1])
		return 1`, withNumber},
	{"EXCAS", 3, `local v = redis.call('HMGET', KEYS[1], 'value', 'version')
		if not v[1] then return -1 end
		if v[2] ~= ARGV[2] then return {'ERR update version is stale', v[1], tonumber(v[2])} end
		local new = tonumber(v[2]) + 1
		redis.call('HSET', KEYS[1], 'value', ARGV[1], 'version', new)
		if ARGV[3] == 'KEEP' then
		elseif ARGV[3] == '' then redis.call('PERSIST', KEYS[1])
		else redis.call(ARGV[3], KEYS[1], ARGV[4]) end
		return {'OK', '', new}`, excas},
	{"EXCAD", 2, `local v = redis.call('HGET', KEYS[1], 'version')
		if not v then return -1 end
		if v ~= ARGV[1] then return 0 end
		return redis.call('DEL', KEYS[1])`, withNumber},
}

// ARGV: value, NX, XX or "", version to match or "", version to set or "",
// the command that sets the expiry, KEEP or "", its argument, 1 to answer with the version.
const exsetScript = `local v = redis.call('HMGET', KEYS[1], 'value', 'version')
	if ARGV[2] == 'NX' and v[1] or ARGV[2] == 'XX' and not v[1] then return false end
	if ARGV[3] ~= '' and v[2] and v[2] ~= ARGV[3] then return redis.error_reply('ERR update version is stale') end
	local new = (tonumber(v[2] or '0')) + 1
	if ARGV[4] ~= '' then new = tonumber(ARGV[4]) end
	redis.call('HSET', KEYS[1], 'value', ARGV[1], 'version', new)
	if ARGV[5] == 'KEEP' then
	elseif ARGV[5] == '' then redis.call('PERSIST', KEYS[1])
	else redis.call(ARGV[5], KEYS[1], ARGV[6]) end
	if ARGV[7] == '1' then return new end
	return redis.status_reply('OK')`

// setIf is SET with IFEQ or IFNE. ARGV: the condition, its value, 1 for GET,
// and then the arguments of a plain SET behind the key.
var setIf = added{"SET", 2, `local v = redis.call('GET', KEYS[1])
	local go
	if ARGV[1] == 'IFEQ' then go = v and v == ARGV[2] else go = not v or v ~= ARGV[2] end
	if go then redis.call('SET', KEYS[1], unpack(ARGV, 4)) end
	if ARGV[3] == '1' then return v end
	if go then return redis.status_reply('OK') end
	return false`, setConditions}

// ttl is TTL as a real server rounds it: to the nearest second, where the
// library cuts off. In scripts and transactions it stays as it is.
var ttl = added{"TTL", 1, `local ms = redis.call('PTTL', KEYS[1])
	if ms < 0 then return ms end
	return math.floor((ms + 500) / 1000)`, exactly(1)}

// hasCondition reports whether the options of a SET have IFEQ or IFNE.
func hasCondition(options []string) bool {
	for i := 0; i < len(options); i++ {
		switch strings.ToUpper(options[i]) {
		case "IFEQ", "IFNE":
			return true
		case "EX", "PX", "EXAT", "PXAT":
			i++
		}
	}
	return false
}

func (c added) run(srv *server.Server, p *server.Peer, name string, args []string) {
	switch {
	case len(args) < c.least:
		p.WriteError(fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name)))
		return
	case nested(p):
		p.WriteError(fmt.Sprintf("ERR this simulated server can't run %s in a script or a transaction", name))
		return
	}
	parsed, err := c.parse(args)
	if err != nil {
		p.WriteError(err.Error())
		return
	}
	var out bytes.Buffer
	side := server.NewPeer(bufio.NewWriter(&out))
	side.Resp3 = p.Resp3
	side.Ctx = p.Ctx // the same database and user
	srv.Dispatch(side, append([]string{"EVAL", c.script, "1"}, parsed...))
	side.Flush()
	p.WriteRaw(out.String())
}

// nested reports whether the command comes from a script, which holds the
// server's lock, or is to be queued in a transaction.
func nested(p *server.Peer) bool {
	conn, ok := connOf(p)
	if !ok {
		return false
	}
	in, tx := conn.FieldByName("nested"), conn.FieldByName("transaction")
	return in.Kind() == reflect.Bool && in.Bool() || tx.Kind() == reflect.Slice && !tx.IsNil()
}

// connOf is what the library keeps of a connection, to be read: it doesn't tell it
// otherwise. It isn't ok before the connection's first command.
func connOf(p *server.Peer) (conn reflect.Value, ok bool) {
	v := reflect.ValueOf(p.Ctx)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return reflect.Value{}, false
	}
	return v.Elem(), true
}

type replyError string

func (e replyError) Error() string { return string(e) }

const errSyntax = replyError("ERR syntax error")

func exactly(n int) func([]string) ([]string, error) {
	return func(args []string) ([]string, error) {
		if len(args) != n {
			return nil, errSyntax
		}
		return args, nil
	}
}

// withNumber is for commands on a key and a version.
func withNumber(args []string) ([]string, error) {
	if len(args) != 2 {
		return nil, errSyntax
	}
	if _, err := strconv.ParseInt(args[1], 10, 64); err != nil {
		return nil, replyError("ERR value is not an integer or out of range")
	}
	return args, nil
}

// expiries are the options that set an expiry, and the commands that do the same.
var expiries = map[string]string{"EX": "EXPIRE", "PX": "PEXPIRE", "EXAT": "EXPIREAT", "PXAT": "PEXPIREAT"}

// takeExpiry reads an expiry option at the front of options. Of no such option
// there are 0 words.
func takeExpiry(options []string) (words int, command, value string, err error) {
	name := strings.ToUpper(options[0])
	if name == "KEEPTTL" {
		return 1, "KEEP", "", nil
	}
	command, ok := expiries[name]
	if !ok {
		return 0, "", "", nil
	}
	if len(options) < 2 {
		return 0, "", "", errSyntax
	}
	if n, err := strconv.ParseInt(options[1], 10, 64); err != nil || n <= 0 {
		return 0, "", "", replyError("ERR invalid expire time")
	}
	return 2, command, options[1], nil
}

// compareAndSet: CAS key old new [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL].
func compareAndSet(args []string) ([]string, error) {
	if rest := args[3:]; len(rest) > 0 {
		n, _, _, err := takeExpiry(rest)
		if err != nil {
			return nil, err
		}
		if n != len(rest) {
			return nil, errSyntax
		}
	}
	return args, nil
}

// excas: EXCAS key value version [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL].
func excas(args []string) ([]string, error) {
	if _, err := withNumber([]string{args[0], args[2]}); err != nil {
		return nil, err
	}
	var command, value string
	if rest := args[3:]; len(rest) > 0 {
		n, c, v, err := takeExpiry(rest)
		if err != nil {
			return nil, err
		}
		if n != len(rest) {
			return nil, errSyntax
		}
		command, value = c, v
	}
	return []string{args[0], args[1], args[2], command, value}, nil
}

// exset: EXSET key value [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL] [NX | XX]
// [VER n | ABS n] [FLAGS n] [WITHVERSION].
func exset(args []string) ([]string, error) {
	var condition, match, set, command, value, answer string
	for rest := args[2:]; len(rest) > 0; {
		n, c, v, err := takeExpiry(rest)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			if command != "" {
				return nil, errSyntax
			}
			command, value, rest = c, v, rest[n:]
			continue
		}
		switch word := strings.ToUpper(rest[0]); word {
		case "NX", "XX":
			if condition != "" {
				return nil, errSyntax
			}
			condition, rest = word, rest[1:]
		case "WITHVERSION":
			answer, rest = "1", rest[1:]
		case "VER", "ABS", "FLAGS":
			if len(rest) < 2 {
				return nil, errSyntax
			}
			if _, err := withNumber([]string{"", rest[1]}); err != nil {
				return nil, err
			}
			if word == "VER" {
				match = rest[1]
			} else if word == "ABS" {
				set = rest[1]
			}
			rest = rest[2:]
		default:
			return nil, errSyntax
		}
	}
	return []string{args[0], args[1], condition, match, set, command, value, answer}, nil
}

// setConditions: SET key value [IFEQ v | IFNE v] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL].
func setConditions(args []string) ([]string, error) {
	var condition, match string
	get := "0"
	plain := []string{args[1]}
	for rest := args[2:]; len(rest) > 0; {
		n, _, _, err := takeExpiry(rest)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			if len(plain) > 1 {
				return nil, errSyntax
			}
			plain, rest = append(plain, rest[:n]...), rest[n:]
			continue
		}
		switch word := strings.ToUpper(rest[0]); word {
		case "IFEQ", "IFNE":
			if len(rest) < 2 || condition != "" {
				return nil, errSyntax
			}
			condition, match, rest = word, rest[1], rest[2:]
		case "GET":
			get, rest = "1", rest[1:]
		default:
			return nil, errSyntax
		}
	}
	return append([]string{args[0], condition, match, get}, plain...), nil
}
