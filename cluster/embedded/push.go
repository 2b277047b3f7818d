package embedded

import "strconv"

// Push is what a server sends unasked: keys that have changed, or all of them
// when Keys is nil.
type Push struct{ Keys []string }

// Append appends the message as it is sent in RESP3.
func (p Push) Append(b []byte) []byte {
	b = append(b, ">2\r\n$10\r\ninvalidate\r\n"...)
	if p.Keys == nil {
		return append(b, "_\r\n"...)
	}
	b = append(strconv.AppendInt(append(b, '*'), int64(len(p.Keys)), 10), "\r\n"...)
	for _, k := range p.Keys {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(k)), 10), "\r\n"+k+"\r\n"...)
	}
	return b
}

// push sends something unasked, which RESP2 doesn't know.
func (c *Session) push(p Push) {
	if c.peer.Resp3 {
		c.track.pushes = append(c.track.pushes, p)
	}
}

// TakePushes returns what the server has sent since the last call.
func (c *Session) TakePushes() []Push {
	ps := c.track.pushes
	c.track.pushes = nil
	return ps
}
