package explore

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/oversell/oversell/cluster/embedded"
)

// crash ends a buyer's process: it sends nothing any more and hears nothing.
func (w *world) crash(b *buyer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.crashed = true
	b.held = false
	b.pend, b.attempt = nil, attempt{}
	b.forgetAll()
	b.meetNobody()
	for c := range b.conns {
		c.owing, c.queue = c.owing || len(c.queue) > 0, nil
		c.disconnect()
	}
}

// befall is what happens to a server.
func (w *world) befall(ev event, log []write) {
	s, st := w.servers[ev.server()], &w.states[ev.server()]
	switch ev.act() {
	case restart:
		s.Flush()
		w.forgetScripts(st)
		s.Session().Do(nil, []string{"SCRIPT", "FLUSH"})
		st.log = nil
	case evict:
		for _, e := range st.entries {
			s.Delete(e.Key)
		}
	case failover1, failover2:
		w.goBack(s, st, log, int(ev.act()-failover1)+1)
	}
	if ev.act() != evict {
		w.cut(ev.server())
	}
	w.lookAt(ev.server())
}

// goBack makes a server what it was before its newest n writes.
func (w *world) goBack(s *embedded.Simulated, st *serverState, log []write, n int) {
	wr := log[len(log)-n]
	s.Flush()
	c := s.Session()
	passed := time.Since(wr.at)
	for _, e := range wr.before {
		if e.TTL > 0 && e.TTL <= passed {
			continue
		}
		restore(c, e)
		if e.TTL > 0 {
			s.Expire(e.Key, e.TTL-passed)
		}
	}
	st.owner = maps.Clone(wr.owner)
	if st.log = log[:len(log)-n]; w.left[hFailover] == 0 {
		st.log = nil
	}
}

func restore(c *embedded.Session, e embedded.Entry) {
	var args []string
	switch e.Type {
	case "string":
		args = append([]string{"SET", e.Key}, e.Value...)
	case "hash":
		args = append([]string{"HSET", e.Key}, e.Value...)
	case "list":
		args = append([]string{"RPUSH", e.Key}, e.Value...)
	case "set":
		args = append([]string{"SADD", e.Key}, e.Value...)
	case "zset":
		args = []string{"ZADD", e.Key}
		for _, v := range e.Value {
			i := strings.LastIndexByte(v, '=')
			args = append(args, v[i+1:], v[:i])
		}
	default:
		return
	}
	if out := c.Do(nil, args); bytes.HasPrefix(out, []byte("-")) {
		panic(fmt.Sprintf("explore: restore %s: %s", e.Key, out))
	}
}
