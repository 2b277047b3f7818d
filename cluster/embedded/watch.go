package embedded

import (
	"cmp"
	"reflect"
	"slices"
)

// Watch is a key that a session watches: what its next EXEC comes to hangs on whether
// that has changed.
type Watch struct {
	Key     string
	Changed bool
}

// Watches lists the keys that the session watches (WATCH), ordered by key. The library
// doesn't tell them, so they are read from its own fields.
func (c *Session) Watches() []Watch {
	if !c.watch {
		return nil
	}
	versions := reflect.ValueOf(c.s.mini.DB(0)).Elem().FieldByName("keyVersion")
	var list []Watch
	if conn, ok := connOf(c.peer); ok {
		for at := conn.FieldByName("watch").MapRange(); at.Next(); {
			key := at.Key().FieldByName("key").String()
			now := versions.MapIndex(reflect.ValueOf(key))
			list = append(list, Watch{key, now.IsValid() && now.Uint() > at.Value().Uint()})
		}
	}
	slices.SortFunc(list, func(x, y Watch) int { return cmp.Compare(x.Key, y.Key) })
	c.watch = len(list) > 0
	return list
}
