package explore

import (
	"math/bits"
	"unsafe"
)

// index finds rows by the hashes of their keys. At least half of its slots stay free.
type index struct {
	slots []int32 // one more than the row that belongs here, or further on; 0 for none
	fixed bool    // as in memory that processes share: there is room for all, which is used bit by bit
}

func newIndex() index { return index{slots: make([]int32, slotsFor(0))} }

// slotsFor is how many slots there are for so many rows.
func slotsFor(rows int32) int { return max(1<<8, 1<<bits.Len32(2*uint32(max(1, rows))-1)) }

// find returns the row of that hash for which is says true, or -1.
func (x *index) find(hash uint64, is func(row int32) bool) int32 {
	mask := len(x.slots) - 1
	for slot := int(hash) & mask; x.slots[slot] != 0; slot = (slot + 1) & mask {
		if row := x.slots[slot] - 1; is(row) {
			return row
		}
	}
	return -1
}

// add makes the newest row, whose key no other has, be found.
func (x *index) add(row int32, hash func(row int32) uint64) {
	if many := slotsFor(row + 1); many > len(x.slots) {
		if x.fixed {
			x.slots = x.slots[:many]
			clear(x.slots)
		} else {
			x.slots = make([]int32, many)
		}
		for old := range row {
			x.put(old, hash(old))
		}
	}
	x.put(row, hash(row))
}

// resume makes x be as others have left it who have so many rows.
func (x *index) resume(rows int32) {
	if x.fixed {
		x.slots = x.slots[:slotsFor(rows)]
	}
}

func (x *index) put(row int32, hash uint64) {
	mask := len(x.slots) - 1
	slot := int(hash) & mask
	for x.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	x.slots[slot] = row + 1
}

// keyed is what a table finds its rows by.
type keyed interface {
	comparable
	hash() uint64
}

// table finds rows by their keys. In memory that processes share it takes no more
// once it is full.
type table[K keyed, V any] struct {
	index
	rows []row[K, V]
}

type row[K keyed, V any] struct {
	key K
	is  V
}

func newTable[K keyed, V any]() table[K, V] { return table[K, V]{index: newIndex()} }

// find returns the row of a key, or -1.
func (t *table[K, V]) find(k K) int32 {
	return t.index.find(k.hash(), func(id int32) bool { return t.rows[id].key == k })
}

// add makes a row for a key that has none. It returns -1 when there is no room.
func (t *table[K, V]) add(k K, is V) (id int32) {
	if t.fixed && len(t.rows) == cap(t.rows) {
		return -1
	}
	id = int32(len(t.rows))
	t.rows = append(t.rows, row[K, V]{k, is})
	t.index.add(id, func(id int32) uint64 { return t.rows[id].key.hash() })
	return id
}

// want is what is in the row of a key, which is made if there is none; nil when there
// is no room.
func (t *table[K, V]) want(k K) *V {
	id := t.find(k)
	if id < 0 {
		var unknown V
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
		t.index.resume(used)
	}
}

// size is how much memory t takes up, in bytes.
func (t *table[K, V]) size() int64 {
	return bytesOf(t.rows) + bytesOf(t.slots)
}

// bytesOf is how much memory a list takes up.
func bytesOf[T any](list []T) int64 {
	var one T
	return int64(len(list)) * int64(unsafe.Sizeof(one))
}
