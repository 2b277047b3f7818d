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
	b.pend, b.trail = nil, nil
	b.view, b.circle = newView(), circle{}
	b.meetNobody()
	for c := range b.conns {
		c.queue = nil
		c.disconnect()
	}
}

// befall is what happens to servers.
func (w *world) befall(a act, log []write) {
	s, st := w.servers[0], &w.states[0]
	switch a {
	case restart:
		s.Flush()
		w.forgetScripts()
		s.Session().Do(nil, []string{"SCRIPT", "FLUSH"})
		st.log = nil
	case evict:
		for _, e := range st.entries {
			s.Delete(e.Key)
		}
	case failover1, failover2:
		w.goBack(s, st, log, int(a-failover1)+1)
	}
	if a != evict {
		w.cut(0)
	}
	w.lookAt(0)
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
