package explore

// hello answers a client's usual greeting. The answer is always the same, and
// asking the server for it each time would take long.
func (c *conn) hello(args []string) {
	if c.w.hello == nil {
		c.w.hello = c.sess.Do(nil, args)
	}
	c.sess.SpeakRESP3()
	c.out = append(c.out, c.w.hello...)
	c.signal()
}

// passes reports whether a command sets up a connection and has no order with
// those of others.
func passes(name string) bool {
	switch name {
	case "HELLO", "CLIENT", "AUTH", "SELECT", "PING", "COMMAND", "READONLY", "INFO", "CLUSTER":
		return true
	}
	return false
}

// setsUp reports whether a command passes without the scheduler.
func (p *pending) setsUp() bool { return len(p.batch) == 1 && passes(upper(p.batch[0][0])) }

// setUp executes a command that passes without the scheduler. Its reply comes
// behind what the buyer hasn't heard yet.
func (c *conn) setUp(args []string) {
	if c.unheard > 0 {
		c.first = append(c.first, args)
		return
	}
	c.answer(c.sess.Do(nil, args))
}
