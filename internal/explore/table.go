package explore

// keyed is what a table finds its rows by.
type keyed interface {
	comparable
	hash() uint64
}

// table finds rows by their keys. In memory that processes share it doesn't grow,
// and takes no more once it is full.
type table[K keyed, V any] struct {
	rows  []row[K, V]
	slots []int32 // one more than the row that belongs here, or further on; 0 for none
	fixed bool
}

type row[K keyed, V any] struct {
	key K
	is  V
}

func newTable[K keyed, V any]() table[K, V] {
	return table[K, V]{slots: make([]int32, 1<<8)}
}

// find returns the row of a key, or -1, and the slot where it belongs.
func (t *table[K, V]) find(k K) (id int32, slot int) {
	mask := len(t.slots) - 1
	for slot = int(k.hash()) & mask; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if id = t.slots[slot] - 1; t.rows[id].key == k {
			return id, slot
		}
	}
	return -1, slot
}

// add makes a row for a key that has none. It returns -1 when there is no room.
func (t *table[K, V]) add(k K, is V) (id int32) {
	if t.fixed && len(t.rows) == cap(t.rows) {
		return -1
	}
	id = int32(len(t.rows))
	t.rows = append(t.rows, row[K, V]{k, is})
	if !t.fixed && 2*len(t.rows) > len(t.slots) {
		t.slots = make([]int32, 2*len(t.slots))
		for i := range t.rows {
			_, slot := t.find(t.rows[i].key)
			t.slots[slot] = int32(i) + 1
		}
		return id
	}
	_, slot := t.find(k)
	t.slots[slot] = id + 1
	return id
}

// want is what is in the row of a key, which is made if there is none; nil when there
// is no room.
func (t *table[K, V]) want(k K, unknown V) *V {
	id, _ := t.find(k)
	if id < 0 {
		id = t.add(k, unknown)
	}
	if id < 0 {
		return nil
	}
	return t.at(id)
}

// at is what is in a row.
func (t *table[K, V]) at(id int32) *V { return &t.rows[id].is }

// resume makes t have as many rows as others have left in it.
func (t *table[K, V]) resume(used int32) {
	if t.fixed {
		t.rows = t.rows[:used]
	}
}
