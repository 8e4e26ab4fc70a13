package cuda

import (
	"fmt"
	"unsafe"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// bytesOf returns the memory of a slice of numbers.
func bytesOf[E any](s []E) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// legalPerRow is the legal moves a row that a slot is first made for; one with more
// grows.
const legalPerRow = 48

// The parts of a slot's rows.
const (
	partMasks = iota
	partScalars
	partTargets
	partAhead
	partStart
	partWeight
	partKept // which of the window a batch is of
	numParts
)

// A rowSlot holds a micro-batch on its way: rows in page-locked memory and their copy
// on the device, and what the pass measured. About 1.1 KB a row go to the device:
// positions as bit masks, not planes.
type rowSlot struct {
	t         *Trainer
	boards    int
	numLegal  int // that there is room for
	rows      []byte
	rowsThere driver.Ptr
	at        [numParts]int // in rows
	moves     []byte        // policy indices and targets
	movesMem  memory

	legal, policy    driver.Ptr
	results          []byte
	resultsThere     driver.Ptr // entropies first, then by term [capacity][2] losses and hits
	ahead            []kernels.Ahead
	copied, measured driver.Event
	graphs           map[device.Pass]driver.Graph // of full batches
}

func newRowSlot(t *Trainer) (*rowSlot, error) {
	s := &rowSlot{t: t, movesMem: memory{d: t.dev.driver}, graphs: map[device.Pass]driver.Graph{}}
	n, size := t.cfg.Capacity, 0
	for p, bytes := range [numParts]int{
		n * fieldBytes[fieldMasks], n * fieldBytes[fieldScalars], n * fieldBytes[fieldTargets], n * fieldBytes[fieldAhead], 4 * (n + 1), 4 * n, 4 * n,
	} {
		s.at[p] = size
		size += roundUp(bytes, 256)
	}
	s.rows, s.rowsThere = t.mem.host(size), t.mem.alloc(size)
	floats := n * (1 + 2*len(t.cfg.Terms)) // the entropy, then losses and hits
	s.results, s.resultsThere = t.mem.host(4*floats), t.mem.floats(floats)
	s.copied, s.measured = t.mem.event(), t.mem.event()
	if t.mem.err != nil {
		return nil, t.mem.err
	}
	return s, s.grow(legalPerRow * n)
}

// grow makes room for numLegal moves; the device is done with the slot.
func (s *rowSlot) grow(numLegal int) error {
	if numLegal <= s.numLegal {
		return nil
	}
	if err := destroyAll(s.graphs); err != nil {
		return err
	}
	if err := s.movesMem.free(); err != nil {
		return err
	}
	s.numLegal, s.movesMem.err = roundUp(numLegal, 128), nil
	s.moves, s.legal = s.movesMem.host(6*s.numLegal), s.movesMem.alloc(6*s.numLegal)
	s.policy = s.legal.Offset(2 * s.numLegal)
	if s.movesMem.err != nil {
		s.numLegal = 0
	}
	return s.movesMem.err
}

// begin makes the slot ready for n rows with so many legal moves in all. The device is
// done with the batch that it held: that was finished, or dropped, so that the event
// behind its results, and with it every kernel that read the slot, has happened. What
// writes the slot next need not wait for the compute stream.
func (s *rowSlot) begin(n, moves int) error {
	if n < 1 || n > s.t.cfg.Capacity {
		return fmt.Errorf("a micro-batch of %d rows, want 1 to %d", n, s.t.cfg.Capacity)
	}
	if err := s.grow(moves); err != nil {
		return err
	}
	s.boards = n
	return nil
}

// part is where a part of the rows lies on the device.
func (s *rowSlot) part(p int) driver.Ptr { return s.rowsThere.Offset(s.at[p]) }

// send copies the parts that there are to rows and starts their way to the device.
func (s *rowSlot) send(st driver.Stream, parts [numParts][]byte) error {
	for p, data := range parts {
		row := s.rows[s.at[p]:][:len(data)]
		copy(row, data)
		if err := st.CopyToDevice(s.part(p), row); err != nil {
			return err
		}
	}
	return nil
}

// fill copies b into the slot and starts its way to the device.
func (s *rowSlot) fill(b *encoding.TrainBatch) error {
	n, moves, st := b.N, int(b.LegalStart[b.N]), s.t.copies
	if err := s.begin(n, moves); err != nil {
		return err
	}
	s.ahead = aheadOf(s.ahead[:0], b.Ahead[:n])
	copy(s.moves, bytesOf(b.Legal[:moves]))
	copy(s.moves[2*s.numLegal:], bytesOf(b.Policy[:moves]))
	err := s.send(st, [numParts][]byte{
		partMasks: bytesOf(b.Masks[:n]), partScalars: bytesOf(b.Scalars[:n]), partTargets: bytesOf(b.Targets[:n]), partAhead: bytesOf(s.ahead),
		partStart: bytesOf(b.LegalStart[:n+1]), partWeight: bytesOf(b.Weight[:n]),
	})
	if err == nil {
		err = st.CopyToDevice(s.legal, s.moves[:2*moves])
	}
	if err == nil {
		err = st.CopyToDevice(s.policy, s.moves[2*s.numLegal:][:4*moves])
	}
	if err != nil {
		return err
	}
	return st.Record(s.copied)
}

// losses is where those of term i lie, by row.
func (s *rowSlot) losses(i int) driver.Ptr {
	return s.resultsThere.Offset(4 * s.t.cfg.Capacity * (1 + 2*i))
}

// aheadOf appends what became of the rows of b as kernels read it.
func aheadOf(to []kernels.Ahead, rows []encoding.Ahead) []kernels.Ahead {
	for _, a := range rows {
		k := kernels.Ahead{Survive: a.Survive, Material: int16(a.Material), Reply: encoding.NoPolicyIndex, From: uint16(a.From), To: uint16(a.To)}
		if !a.Known {
			k.Material = kernels.NoMaterial
		}
		if a.From != a.To {
			k.Reply = a.ReplyIndex()
		}
		to = append(to, k)
	}
	return to
}

// read gives the measures that have come back.
func (s *rowSlot) read(out *device.Rows) {
	n := s.boards
	floats := view[float32](s.results, 0, len(s.results)/4)
	out.Entropy = out.Entropy[:0]
	for _, x := range floats[:n] {
		out.Entropy = append(out.Entropy, float64(x))
	}
	if len(out.Terms) != len(s.t.cfg.Terms) {
		out.Terms = make([][]device.RowLoss, len(s.t.cfg.Terms))
	}
	for i := range out.Terms {
		at := s.t.cfg.Capacity * (1 + 2*i)
		out.Terms[i] = out.Terms[i][:0]
		for row := range n {
			m := floats[at+2*row:]
			out.Terms[i] = append(out.Terms[i], device.RowLoss{Loss: float64(m[0]), Hit: float64(m[1])})
		}
	}
}
