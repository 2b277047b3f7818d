package explore

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// region is memory that processes share, as a file without a name.
type region struct {
	file *os.File
	data []byte
}

// Room for this many edges a state is enough for every lock so far, several times.
const edgesPerState = 6

const (
	sharedNodes = maxStates + 1<<10 // whoever is on the way when it is full adds one more
	sharedEdges = maxStates * edgesPerState
	sharedSlots = 1 << 22 // at least twice as many as nodes
	sharedParts = 1 << 20 // of each kind; without room for more, more states are visited
	sharedMoves = 1 << 21
)

// Where what lies in a region.
const (
	nodesAt    = 1 << 12
	edgesAt    = nodesAt + sharedNodes*int64(unsafe.Sizeof(node{}))
	slotsAt    = edgesAt + sharedEdges*int64(unsafe.Sizeof(edge{}))
	linksAt    = slotsAt + sharedSlots*int64(unsafe.Sizeof(int32(0)))
	commonsAt  = linksAt + sharedEdges*int64(unsafe.Sizeof(int32(0)))
	buyersAt   = commonsAt + sharedParts*(int64(unsafe.Sizeof(row[view, common]{}))+slotsEach+seatsEach)
	movesAt    = buyersAt + sharedParts*(int64(unsafe.Sizeof(row[view, outline]{}))+slotsEach+seatsEach)
	reactsAt   = movesAt + sharedMoves*(int64(unsafe.Sizeof(row[moveKey, learnt[move]]{}))+slotsEach)
	answersAt  = reactsAt + sharedParts*(int64(unsafe.Sizeof(row[reactionKey, learnt[reaction]]{}))+slotsEach)
	hearsAt    = answersAt + sharedMoves*(int64(unsafe.Sizeof(row[askKey, learnt[answer]]{}))+slotsEach)
	wordsAt    = hearsAt + sharedMoves*(int64(unsafe.Sizeof(row[view, learnt[reaction]]{}))+slotsEach)
	printsAt   = wordsAt + sharedParts*maxOutlined*int64(unsafe.Sizeof(uint64(0)))
	regionSize = printsAt + maxPrints*(int64(unsafe.Sizeof(row[footprint, struct{}]{}))+slotsEach)

	slotsEach = 2 * int64(unsafe.Sizeof(int32(0))) // a table has twice as many slots as rows
	// There may be as many orbits as parts.
	seatsEach = int64(unsafe.Sizeof(seat{})) + allTurns*int64(unsafe.Sizeof(int32(0)))
)

// newRegion makes a region. It takes up memory only where it is used.
func newRegion() (*region, error) {
	fd, err := unix.MemfdCreate("oversell-explore", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make memory that processes share: %w", err)
	}
	f := os.NewFile(uintptr(fd), "oversell-explore")
	if err := f.Truncate(regionSize); err != nil {
		return nil, fmt.Errorf("make memory that processes share: %w", err)
	}
	return openRegion(f)
}

// openRegion makes a region accessible that another process has made.
func openRegion(f *os.File) (*region, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(regionSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("share memory with other processes: %w", err)
	}
	return &region{f, data}, nil
}

func (m *region) close() {
	_ = unix.Munmap(m.data)
	_ = m.file.Close()
}

// liesIn makes g be in m, with what others have put there.
func (g *graph) liesIn(m *region) {
	at := func(offset int64) unsafe.Pointer { return unsafe.Pointer(&m.data[offset]) }
	g.mem = m
	g.tally = (*tally)(at(0))
	g.nodes = unsafe.Slice((*node)(at(nodesAt)), sharedNodes)[:0]
	g.edges = unsafe.Slice((*edge)(at(edgesAt)), sharedEdges)[:0]
	g.byKey = index{unsafe.Slice((*int32)(at(slotsAt)), sharedSlots)[:slotsFor(0)], true}
	g.links = unsafe.Slice((*int32)(at(linksAt)), sharedEdges)[:0]
	g.prints.liesIn(at(printsAt), maxPrints)
	g.composer.commons.liesIn(at(commonsAt), sharedParts)
	g.composer.buyers.liesIn(at(buyersAt), sharedParts)
	g.composer.moves.liesIn(at(movesAt), sharedMoves)
	g.composer.reactions.liesIn(at(reactsAt), sharedParts)
	g.composer.answers.liesIn(at(answersAt), sharedMoves)
	g.composer.hearings.liesIn(at(hearsAt), sharedMoves)
	g.composer.words = unsafe.Slice((*uint64)(at(wordsAt)), sharedParts*maxOutlined)[:0]
}

// liesIn makes t be where rows and then slots for at most so many rows lie.
func (t *table[K, V]) liesIn(at unsafe.Pointer, many int) {
	t.rows = unsafe.Slice((*row[K, V])(at), many)[:0]
	t.index = index{unsafe.Slice((*int32)(unsafe.Add(at, many*int(unsafe.Sizeof(row[K, V]{})))), 2*many)[:slotsFor(0)], true}
}

// liesIn makes t be where rows, slots, orbits and then seats lie.
func (t *partTable[T]) liesIn(at unsafe.Pointer, many int) {
	t.table.liesIn(at, many)
	at = unsafe.Add(at, many*int(unsafe.Sizeof(row[view, T]{})+uintptr(slotsEach)))
	t.orbits = unsafe.Slice((*int32)(at), many*t.each)[:0]
	at = unsafe.Add(at, many*allTurns*int(unsafe.Sizeof(int32(0))))
	t.seats = unsafe.Slice((*seat)(at), many)[:0]
}

// acquire waits until spin is this process's. Whoever has it keeps it for a
// microsecond or so, unless the machine takes the CPU away from him.
func acquire(spin *uint32) {
	for n := 1; !atomic.CompareAndSwapUint32(spin, 0, 1); n++ {
		if n%100 == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

func release(spin *uint32) { atomic.StoreUint32(spin, 0) }
