package embedded

import (
	"bytes"
	"strconv"
	"strings"
)

// effect says by which reply a command that writes shows that it has changed its
// keys. A server tells of a change also when a key holds the same afterwards.
type effect uint8

const (
	unlessRefused effect = iota + 1 // any reply but an error
	ifCounted                       // a number above 0
	ifGiven                         // anything but nil
)

// effects are those of the commands that locks are made of. What others change is
// seen by comparing what keys hold.
var effects = map[string]effect{
	"SETEX": unlessRefused, "PSETEX": unlessRefused, "GETSET": unlessRefused, "MSET": unlessRefused, "APPEND": unlessRefused,
	"INCR": unlessRefused, "INCRBY": unlessRefused, "INCRBYFLOAT": unlessRefused, "DECR": unlessRefused, "DECRBY": unlessRefused,
	"HSET": unlessRefused, "HMSET": unlessRefused, "HINCRBY": unlessRefused, "LPUSH": unlessRefused, "RPUSH": unlessRefused,
	"RENAME": unlessRefused,
	"DEL":    ifCounted, "UNLINK": ifCounted, "EXPIRE": ifCounted, "PEXPIRE": ifCounted, "EXPIREAT": ifCounted, "PEXPIREAT": ifCounted,
	"PERSIST": ifCounted, "SETNX": ifCounted, "MSETNX": ifCounted, "HSETNX": ifCounted, "HDEL": ifCounted,
	"SADD": ifCounted, "SREM": ifCounted, "ZREM": ifCounted, "LREM": ifCounted,
	"GETDEL": ifGiven, "LPOP": ifGiven, "RPOP": ifGiven, "SPOP": ifGiven, "SET": ifGiven,
}

// ofSome are those that count how many of several keys they have changed: the ones
// that there were.
var ofSome = map[string]bool{"DEL": true, "UNLINK": true}

// changes reports whether a command that was answered so has changed its keys.
func changes(name string, args []string, reply []byte) bool {
	none := bytes.HasPrefix(reply, []byte("_")) || bytes.HasPrefix(reply, []byte("$-1"))
	if name == "SET" && hasWord(args, "GET") { // the reply is what was there before
		return none && !hasWord(args, "XX") || !none && !hasWord(args, "NX")
	}
	if name == "GETEX" {
		return !none && len(args) > 1
	}
	switch effects[name] {
	case unlessRefused:
		return true
	case ifGiven:
		return !none
	case ifCounted:
		return bytes.HasPrefix(reply, []byte(":")) && !bytes.HasPrefix(reply, []byte(":0")) && !bytes.HasPrefix(reply, []byte(":-"))
	}
	return false
}

// hasWord reports whether a SET has an option.
func hasWord(args []string, word string) bool {
	for i := 2; i < len(args); i++ {
		switch w := strings.ToUpper(args[i]); w {
		case word:
			return true
		case "EX", "PX", "EXAT", "PXAT", "IFEQ", "IFNE":
			i++
		}
	}
	return false
}

// keysOf are the keys of a command that only reads, or whose effect is known.
func keysOf(name string, args []string) []string {
	switch name {
	case "DEL", "UNLINK", "EXISTS", "MGET", "TOUCH", "RENAME", "PFCOUNT", "SDIFF", "SINTER", "SUNION":
		return args
	case "MSET", "MSETNX":
		var keys []string
		for i := 0; i < len(args); i += 2 {
			keys = append(keys, args[i])
		}
		return keys
	case "SINTERCARD", "ZINTER", "ZUNION":
		if n, err := strconv.Atoi(args[0]); err == nil && n < len(args) {
			return args[1 : 1+n]
		}
		return nil
	case "KEYS", "SCAN", "RANDOMKEY", "DBSIZE", "XREAD":
		return nil
	}
	return args[:min(1, len(args))]
}

// IsScript reports whether a command, written large, runs a script.
func IsScript(name string) bool {
	switch name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		return true
	}
	return false
}

// elements are the parts of an array that was answered.
func elements(reply []byte) [][]byte {
	n, rest, ok := head(reply)
	if !ok || reply[0] != '*' {
		return nil
	}
	var all [][]byte
	for range n {
		size := frame(rest)
		if size == 0 {
			return all
		}
		all = append(all, rest[:size])
		rest = rest[size:]
	}
	return all
}

// head reads the first line of a reply, as far as it is a number.
func head(reply []byte) (n int, rest []byte, ok bool) {
	i := bytes.Index(reply, []byte("\r\n"))
	if i < 1 {
		return 0, nil, false
	}
	n, _ = strconv.Atoi(string(reply[1:i]))
	return n, reply[i+2:], true
}

// frame is the length of the reply at the front, 0 when it isn't all there.
func frame(reply []byte) int {
	n, rest, ok := head(reply)
	if !ok {
		return 0
	}
	size := len(reply) - len(rest)
	switch reply[0] {
	case '$', '=':
		if n >= 0 {
			size += n + 2
		}
		return size
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return size
	}
	for range n {
		part := frame(reply[size:])
		if part == 0 {
			return 0
		}
		size += part
	}
	return size
}
