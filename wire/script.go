package wire

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// script is what the text of a Lua script or function tells about its purpose.
type script struct {
	role      Role
	owner     int  // which ARGV is the owner's value: 1, 2, ...
	nilGrants bool // it returns nil when it took effect, and what is in the way otherwise
}

// maxScripts bounds what is remembered, for clients that write values into
// their scripts.
const maxScripts = 4096

// scripts remembers the scripts that were seen, so that a call by digest or by
// name has a role too. Safe for concurrent use.
type scripts struct {
	limit     int
	mu        sync.RWMutex
	texts     map[string]script
	digests   map[string]script
	functions map[string]script
}

func newScripts() *scripts {
	return &scripts{limit: maxScripts, texts: map[string]script{}, digests: map[string]script{}, functions: map[string]script{}}
}

// learn reads a script and remembers it.
func (s *scripts) learn(text string) script {
	s.mu.RLock()
	known, ok := s.texts[text]
	s.mu.RUnlock()
	if ok {
		return known
	}
	sc := readScript(text)
	sum := sha1.Sum([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.texts) < s.limit {
		s.texts[text] = sc
		s.digests[hex.EncodeToString(sum[:])] = sc
	}
	return sc
}

// learnLibrary reads the functions that a library registers.
func (s *scripts) learnLibrary(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, body := range functionsOf(stripComments(text)) {
		if len(s.functions) < s.limit {
			s.functions[name] = readScript(body)
		}
	}
}

func (s *scripts) bySHA(digest string) script {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.digests[strings.ToLower(digest)]
}

func (s *scripts) byFunction(name string) script {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.functions[name]
}

// luaCall is one call of a server's command inside a script.
type luaCall struct {
	name string // upper case
	args string // as written
}

var (
	longComment = regexp.MustCompile(`(?s)--\[\[.*?\]\]`)
	lineComment = regexp.MustCompile(`--[^\n]*`)
	callAlias   = regexp.MustCompile(`(\w+)\s*=\s*(?:redis|server)\s*\.\s*p?call\b`)
	ownerArg    = regexp.MustCompile(`(?i)\b(?:ARGV|args)\s*\[\s*(\d+)\s*\]`)
	comparison  = regexp.MustCompile(`[=~]=`)
	freeTest    = regexp.MustCompile(`==\s*(?:false|nil)\b|\bnot\s+\w|(?i)['"]exists['"][^)]*\)\s*==\s*0`)
	takenTest   = regexp.MustCompile(`(?i)['"]exists['"][^)]*\)\s*(?:==\s*1|>\s*0|~=\s*0)`)
	nxOption    = regexp.MustCompile(`(?i)['"]NX['"]`)
	xxOption    = regexp.MustCompile(`(?i)['"]XX['"]`)
	nilReturn   = regexp.MustCompile(`\breturn\s+(?:nil|false)\b`)
	ttlReturn   = regexp.MustCompile(`(?i)\breturn\s+[\w.]*call\s*\(\s*['"]P?TTL['"]`)
	registered  = regexp.MustCompile(`register_function\s*[({]\s*(?:function_name\s*=\s*)?['"](\w+)['"]\s*,\s*(?:callback\s*=\s*)?(\w+)`)
)

// plainCaller is what a command is called with, unless a script has a name of
// its own for it.
const plainCaller = `(?:redis|server)\s*\.\s*p?call`

var plainCall = callsBy(plainCaller)

func callsBy(callers string) *regexp.Regexp {
	return regexp.MustCompile(`(?:` + callers + `)\s*\(\s*['"]([A-Za-z.]+)['"]`)
}

func stripComments(text string) string {
	return lineComment.ReplaceAllString(longComment.ReplaceAllString(text, " "), "")
}

// readScript tells a script's role. What can set a key that is free acquires,
// whatever else it does; what compares first releases or renews for the owner;
// what only deletes or expires does so blindly.
func readScript(text string) script {
	text = stripComments(text)
	calls := callsOf(text)
	has := func(names ...string) bool {
		return slices.ContainsFunc(calls, func(c luaCall) bool { return slices.Contains(names, c.name) })
	}
	compares := has("GET", "HGET", "HEXISTS", "GETRANGE", "HMGET", "EXGET") && comparison.MatchString(text)
	sets := slices.ContainsFunc(calls, luaCall.creates)

	s := script{owner: ownerOf(text, calls)}
	switch {
	case setsIfFree(calls), sets && goesOnIfFree(text):
		s.role = Acquire
		s.nilGrants = nilReturn.MatchString(text) && ttlReturn.MatchString(text)
	case has("DEL", "UNLINK", "DELEX", "DELIFEQ", "CAD", "EXCAD"), compares && has("HDEL"):
		s.role = Release
	case compares && (sets || has("SET") || has("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")), has("CAS", "EXCAS"):
		s.role = Renew
	case has("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"):
		s.role = Expire
	}
	return s
}

// creates reports whether the call can make a key that wasn't there.
func (c luaCall) creates() bool {
	switch c.name {
	case "SET":
		return !xxOption.MatchString(c.args)
	case "SETEX", "PSETEX", "HSET", "HMSET", "HINCRBY":
		return true
	}
	return false
}

// goesOnIfFree reports whether a script tests that the key is free and then
// does something, or tests that it is taken and then gives up.
func goesOnIfFree(text string) bool {
	for _, at := range freeTest.FindAllStringIndex(text, -1) {
		if !givesUp(text[at[1]:]) {
			return true
		}
	}
	for _, at := range takenTest.FindAllStringIndex(text, -1) {
		if givesUp(text[at[1]:]) {
			return true
		}
	}
	return false
}

// givesUp reports whether the branch behind a test returns without calling
// the server.
func givesUp(text string) bool {
	_, branch, _ := strings.Cut(text, "then")
	line, _, _ := strings.Cut(strings.TrimSpace(branch), "end")
	return strings.HasPrefix(line, "return") && !strings.Contains(line, "call")
}

// setsIfFree reports whether one call alone takes a key that is free.
func setsIfFree(calls []luaCall) bool {
	return slices.ContainsFunc(calls, func(c luaCall) bool {
		switch c.name {
		case "SETNX", "HSETNX", "MSETNX":
			return true
		case "SET", "EXSET":
			return nxOption.MatchString(c.args)
		}
		return false
	})
}

// ownerOf finds the argument that is the owner's value: the one that is set,
// or else the one that is compared, or else the first.
func ownerOf(text string, calls []luaCall) int {
	for _, c := range calls {
		switch c.name {
		case "SET", "SETNX", "HEXISTS", "HSETNX", "HSET", "HINCRBY", "EXSET", "DELIFEQ", "CAD":
			if n := argNumber(c.args); n > 0 {
				return n
			}
		}
	}
	for _, at := range comparison.FindAllStringIndex(text, -1) {
		if n := argNumber(around(text, at[0], at[1])); n > 0 {
			return n
		}
	}
	return 1
}

// around is the part of a line that a comparison is about.
func around(text string, start, end int) string {
	from := strings.LastIndexAny(text[:start], "\n;") + 1
	if i := strings.LastIndex(text[from:start], "if"); i >= 0 {
		from += i
	}
	to := len(text)
	if i := strings.IndexAny(text[end:], "\n;"); i >= 0 {
		to = end + i
	}
	if i := strings.Index(text[end:to], "then"); i >= 0 {
		to = end + i
	}
	return text[from:to]
}

func argNumber(text string) int {
	m := ownerArg.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// callsOf lists the commands that a script calls, in the order of its text,
// through redis.call, redis.pcall, server.call or a local name for one of them.
func callsOf(text string) []luaCall {
	expr := plainCall
	if aliases := callAlias.FindAllStringSubmatch(text, -1); aliases != nil {
		callers := plainCaller
		for _, m := range aliases {
			callers += `|\b` + m[1]
		}
		expr = callsBy(callers)
	}
	var calls []luaCall
	for _, at := range expr.FindAllStringSubmatchIndex(text, -1) {
		calls = append(calls, luaCall{name: strings.ToUpper(text[at[2]:at[3]]), args: untilClosed(text[at[1]:])})
	}
	return calls
}

// untilClosed cuts text at the parenthesis that closes the one before it.
func untilClosed(text string) string {
	depth := 1
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}

// functionsOf returns the text of each function that a library registers.
func functionsOf(text string) map[string]string {
	bodies := map[string]string{}
	found := registered.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		name, callback := text[at[2]:at[3]], text[at[4]:at[5]]
		if callback != "function" {
			bodies[name] = namedFunction(text, callback)
			continue
		}
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		bodies[name] = text[at[0]:end]
	}
	return bodies
}

// namedFunction returns a library's text from a function's name to whatever is
// defined or registered next.
func namedFunction(text, name string) string {
	at := regexp.MustCompile(`(?:function\s+` + name + `\b|\b` + name + `\s*=\s*function\b)`).FindStringIndex(text)
	if at == nil {
		return ""
	}
	body := text[at[0]:]
	next := regexp.MustCompile(`\n\s*(?:local\s+)?function\b|\n\s*local\s+\w+\s*=\s*function\b|register_function`)
	if i := next.FindStringIndex(body); i != nil {
		return body[:i[0]]
	}
	return body
}
