package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/replay"
)

// Stream draws indices without replacement from a sliding window [lo, hi). When
// the window is used up it starts over: every index comes exactly once a pass,
// in uniformly random order. An index that enters the window joins the pass
// under way; one that leaves it will not come again. One goroutine at a time.
//
// The memory is 4 bytes an index of the window. A draw costs O(1), a rise of lo
// O(window).
type Stream struct {
	pcg  *rand.PCG
	rng  *rand.Rand
	lo   uint64
	hi   uint64
	rest []uint32 // what is left of the pass, minus base, unordered; empty = the next pass has not begun
	base uint64   // <= lo
	pass uint64   // passes completed

	passed uint64 // hi when the last pass was completed
}

// maxWindow is how many indices a window may have.
const maxWindow = 1 << 31

// NewStream returns a stream over the empty window [0, 0).
func NewStream(pcg *rand.PCG) *Stream { return &Stream{pcg: pcg, rng: rand.New(pcg)} }

// Slide moves the window. Its ends only rise: values below the current ones
// leave them where they are. It panics on a window of more than 2^31 indices.
func (s *Stream) Slide(lo, hi uint64) {
	hi = max(s.hi, hi, lo)
	if lo > s.lo {
		s.drop(lo)
	}
	if hi-s.lo > maxWindow {
		panic(fmt.Sprintf("loader: a window of %d chunks", hi-s.lo))
	}
	if len(s.rest) > 0 { // else the next pass begins with the whole window
		for i := max(s.hi, s.lo); i < hi; i++ {
			s.rest = append(s.rest, uint32(i-s.base))
		}
	}
	s.hi = hi
}

// drop raises lo.
func (s *Stream) drop(lo uint64) {
	under := len(s.rest) > 0
	kept := s.rest[:0]
	for _, r := range s.rest {
		if i := s.base + uint64(r); i >= lo {
			kept = append(kept, uint32(i-lo))
		}
	}
	s.rest, s.base, s.lo = kept, lo, lo
	if under && len(kept) == 0 {
		s.pass++
		s.passed = s.hi
	}
}

// Window returns the ends of the window.
func (s *Stream) Window() (lo, hi uint64) { return s.lo, s.hi }

// Passes returns how many passes are complete.
func (s *Stream) Passes() uint64 { return s.pass }

// Left returns how many draws complete so many passes over the window as it is.
func (s *Stream) Left(passes uint64) uint64 {
	if s.pass >= passes {
		return 0
	}
	left := (passes - s.pass) * (s.hi - s.lo)
	if rest := uint64(len(s.rest)); rest > 0 {
		left -= s.hi - s.lo - rest
	}
	return left
}

// Seen says whether a pass is complete, and nothing has come into the window since.
func (s *Stream) Seen() bool { return len(s.rest) == 0 && s.hi == s.passed }

// Next draws an index; ok is false if the window is empty.
func (s *Stream) Next() (index uint64, ok bool) {
	if s.lo == s.hi {
		return 0, false
	}
	if len(s.rest) == 0 {
		s.rest, s.base = s.whole(s.rest), s.lo
	}
	last := len(s.rest) - 1
	k := s.rng.IntN(last + 1)
	index = s.base + uint64(s.rest[k])
	s.rest[k] = s.rest[last]
	s.rest = s.rest[:last]
	if last == 0 {
		s.pass++
		s.passed = s.hi
	}
	return index, true
}

// whole returns the rest of a pass that begins, in the room of rest.
func (s *Stream) whole(rest []uint32) []uint32 {
	for i := range s.hi - s.lo {
		rest = append(rest, uint32(i))
	}
	return rest
}

// pcgBytes is the length of a generator's state.
const pcgBytes = 20

// errStream says that bytes are no state of a Stream.
var errStream = errors.New("state of the shuffler is damaged")

// AppendState appends the state: after SetState of it the same indices follow.
// Layout: generator 20, lo, hi, base, pass and the length of the rest, 8 each | the rest,
// 4 each.
func (s *Stream) AppendState(dst []byte) []byte {
	rest, base := s.rest, s.base
	if s.pass > 0 && len(rest) == 0 && !s.Seen() {
		// A state without a rest says that all was seen: the pass with what came since has begun.
		rest, base = s.whole(nil), s.lo
	}
	dst, _ = s.pcg.AppendBinary(dst) // never fails
	for _, v := range [...]uint64{s.lo, s.hi, base, s.pass, uint64(len(rest))} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	for _, r := range rest {
		dst = binary.LittleEndian.AppendUint32(dst, r)
	}
	return dst
}

// SetState replaces the state by what AppendState wrote, which d stands before. On error
// the state is unchanged.
func (s *Stream) SetState(d *replay.Decoder) error {
	n := NewStream(new(rand.PCG))
	pcg := d.Take(pcgBytes)
	n.lo, n.hi, n.base, n.pass = d.U64(), d.U64(), d.U64(), d.U64()
	count := d.U64()
	if d.Err != nil || n.base > n.lo || n.lo > n.hi || n.hi-n.base > maxWindow ||
		count > uint64(len(d.Data)-d.Pos)/4 || count > n.hi-n.lo {
		return errStream
	}
	if err := setPCG(n.pcg, pcg); err != nil {
		return err
	}
	n.rest = make([]uint32, count)
	for i := range n.rest {
		n.rest[i] = d.U32()
		if i := n.base + uint64(n.rest[i]); i < n.lo || i >= n.hi {
			return errStream
		}
	}
	if count == 0 {
		n.passed = n.hi
	}
	*s.pcg = *n.pcg
	n.pcg, n.rng = s.pcg, s.rng
	*s = *n
	return nil
}

// setPCG replaces a generator's state.
func setPCG(pcg *rand.PCG, src []byte) error {
	if err := pcg.UnmarshalBinary(src); err != nil {
		return fmt.Errorf("state of the random generator: %w", err)
	}
	return nil
}
