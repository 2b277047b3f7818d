package embedded

import (
	"fmt"
	"slices"
	"strings"
)

// answer answers what the library doesn't know or would answer as a cluster does:
// CLIENT TRACKING and CACHING, CLUSTER, and INFO server.
func (c *Session) answer(args []string) (reply string, ok bool) {
	if len(args) < 2 || nested(c.peer) {
		return "", false
	}
	sub := strings.ToUpper(args[1])
	switch strings.ToUpper(args[0]) {
	case "CLUSTER":
		return "-ERR This instance has cluster support disabled\r\n", true
	case "INFO":
		if sub == "SERVER" && len(args) == 2 {
			const text = "# Server\r\nredis_version:" + speaksAs + "\r\n"
			return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text), true
		}
	case "CLIENT":
		var err error
		switch sub {
		case "TRACKING":
			err = c.tracking(args[2:])
		case "CACHING":
			err = c.caching(args[2:])
		default:
			return "", false
		}
		if err != nil {
			return "-" + err.Error() + "\r\n", true
		}
		return "+OK\r\n", true
	}
	return "", false
}

// speaksAs is the version of which the library says in HELLO that it is.
const speaksAs = "8.4.0"

// The refusals are a real server's.
const (
	errRedirect    = replyError("ERR this simulated server can't redirect what it tells of changes")
	errPrefix      = replyError("ERR PREFIX option requires BCAST mode to be enabled")
	errOverlap     = replyError("ERR Prefixes for a single client must not overlap")
	errOtherBcast  = replyError("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.")
	errOptBcast    = replyError("ERR OPTIN and OPTOUT are not compatible with BCAST")
	errOptBoth     = replyError("ERR You can't specify both OPTIN mode and OPTOUT mode")
	errOptOther    = replyError("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.")
	errCachingMode = replyError("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	errCachingYes  = replyError("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	errCachingNo   = replyError("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
)

// tracking does CLIENT TRACKING ON|OFF [PREFIX p ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
func (c *Session) tracking(args []string) error {
	if len(args) < 1 {
		return replyError("ERR wrong number of arguments for 'client|tracking' command")
	}
	var is tracking
	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		switch word := strings.ToUpper(rest[0]); {
		case word == "BCAST":
			is.bcast = true
		case word == "OPTIN":
			is.optIn = true
		case word == "OPTOUT":
			is.optOut = true
		case word == "NOLOOP":
			is.noLoop = true
		case word == "REDIRECT" && len(rest) > 1:
			return errRedirect
		case word == "PREFIX" && len(rest) > 1:
			is.prefixes = append(is.prefixes, rest[1])
			rest = rest[1:]
		default:
			return errSyntax
		}
	}
	switch strings.ToUpper(args[0]) {
	case "ON":
	case "OFF":
		c.s.tracker.off(c)
		return nil
	default:
		return errSyntax
	}
	was := c.track
	switch {
	case !is.bcast && len(is.prefixes) > 0:
		return errPrefix
	case was.on && was.bcast != is.bcast:
		return errOtherBcast
	case is.bcast && (is.optIn || is.optOut):
		return errOptBcast
	case is.optIn && is.optOut:
		return errOptBoth
	case was.on && (is.optIn && was.optOut || is.optOut && was.optIn):
		return errOptOther
	}
	if is.bcast && len(is.prefixes) == 0 {
		is.prefixes = []string{""}
	}
	is.prefixes = append(was.prefixes[:len(was.prefixes):len(was.prefixes)], is.prefixes...)
	for i, p := range is.prefixes {
		for _, o := range is.prefixes[:i] {
			if strings.HasPrefix(p, o) || strings.HasPrefix(o, p) {
				return errOverlap
			}
		}
	}
	slices.Sort(is.prefixes)
	is.on, is.pushes, is.queued = true, was.pushes, was.queued
	c.track = is
	c.s.tracker.sessions[c] = struct{}{}
	c.s.tracker.used = true
	return nil
}

// caching does CLIENT CACHING YES|NO, which is about the session's next command.
func (c *Session) caching(args []string) error {
	if len(args) != 1 {
		return replyError("ERR wrong number of arguments for 'client|caching' command")
	}
	if !c.track.on || !c.track.optIn && !c.track.optOut {
		return errCachingMode
	}
	switch word := strings.ToUpper(args[0]); {
	case word == "YES" && !c.track.optIn:
		return errCachingYes
	case word == "NO" && !c.track.optOut:
		return errCachingNo
	case word != "YES" && word != "NO":
		return errSyntax
	}
	c.track.caching = true
	return nil
}
