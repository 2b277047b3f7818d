package wire

import (
	"strconv"
	"strings"
)

// purpose is what a command is for, and how to read its reply.
type purpose struct {
	role  Role
	value string
	grant grant
}

// grant is how a reply says that a command took effect.
type grant int

const (
	byReply  grant = iota // as Reply.Granted describes
	byNil                 // a nil says yes, anything else no
	byFirst               // the first element of an array says it, as an OK
	byScript              // as byReply; of an array, its first element
)

// purposeOf tells what a command is for. args[0] is its name.
func (s *scripts) purposeOf(name string, args []string) purpose {
	switch name {
	case "SETNX", "MSETNX":
		return purpose{role: Acquire, value: arg(args, 2)}
	case "SET":
		return purposeOfSet(args)
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return purpose{role: Expire}
	case "GETEX":
		if hasOption(args, 2, "EX", "PX", "EXAT", "PXAT") {
			return purpose{role: Expire}
		}
	case "DEL", "UNLINK", "GETDEL":
		return purpose{role: Release}
	case "DELEX":
		p := purpose{role: Release}
		if strings.EqualFold(arg(args, 2), "IFEQ") {
			p.value = arg(args, 3)
		}
		return p
	case "DELIFEQ", "CAD", "EXCAD":
		return purpose{role: Release, value: arg(args, 2)}
	case "CAS":
		return purpose{role: Renew, value: arg(args, 3)}
	case "EXCAS":
		return purpose{role: Renew, value: arg(args, 2), grant: byFirst}
	case "EXSET":
		if hasOption(args, 3, "NX") {
			return purpose{role: Acquire, value: arg(args, 2)}
		}
	case "EVAL", "EVAL_RO":
		return s.learn(arg(args, 1)).purpose(args)
	case "EVALSHA", "EVALSHA_RO":
		return s.bySHA(arg(args, 1)).purpose(args)
	case "FCALL", "FCALL_RO":
		return s.byFunction(arg(args, 1)).purpose(args)
	case "SCRIPT":
		if strings.EqualFold(arg(args, 1), "LOAD") {
			s.learn(arg(args, 2))
		}
	case "FUNCTION":
		if strings.EqualFold(arg(args, 1), "LOAD") {
			s.learnLibrary(args[len(args)-1])
		}
	}
	return purpose{}
}

// purposeOfSet reads the options of SET in any order. A SET without a
// condition overwrites whatever is there: it is for something else.
func purposeOfSet(args []string) purpose {
	p := purpose{value: arg(args, 2)}
	expiry := false
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "NX":
			p.role = Acquire
		case "IFEQ":
			p.role = Renew
			i++
		case "XX":
			if p.role == Other {
				p.role = Expire
			}
		case "EX", "PX", "EXAT", "PXAT":
			expiry = true
			i++
		case "IFNE", "IFDEQ", "IFDNE":
			i++
		}
	}
	switch {
	case p.role == Expire && !expiry, p.role == Other:
		return purpose{}
	case p.role == Acquire && hasOption(args, 3, "GET"):
		p.grant = byNil // the reply is the value that was in the way
	}
	return p
}

// hasOption reports whether one of words is among the arguments from index i on.
func hasOption(args []string, i int, words ...string) bool {
	for ; i < len(args); i++ {
		for _, w := range words {
			if strings.EqualFold(args[i], w) {
				return true
			}
		}
	}
	return false
}

// purpose applies what a script does to the arguments of one call of it.
func (s script) purpose(args []string) purpose {
	if s.role == Other {
		return purpose{}
	}
	p := purpose{role: s.role, grant: byScript}
	if s.nilGrants {
		p.grant = byNil
	}
	keys, err := strconv.Atoi(arg(args, 2))
	if err == nil && keys >= 0 && s.role != Expire {
		p.value = arg(args, 2+keys+s.owner)
	}
	return p
}
