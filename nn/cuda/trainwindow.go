package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// windowChunk is the rows that a window takes at a time, 2.4 MiB.
const windowChunk = 1024

// The fields of a window's row, and their bytes.
const (
	fieldMasks = iota
	fieldScalars
	fieldTargets
	fieldAhead
	fieldLegal
	fieldPolicy
	numFields
)

var fieldBytes = [numFields]int{
	fieldMasks:   8 * encoding.NumMasks,
	fieldScalars: int(unsafe.Sizeof(encoding.Scalars{})),
	fieldTargets: int(unsafe.Sizeof([encoding.NumTargets]encoding.QDM{})),
	fieldAhead:   int(unsafe.Sizeof(kernels.Ahead{})),
	fieldLegal:   2 * kernels.WindowMoves,
	fieldPolicy:  4 * kernels.WindowMoves,
}

// windowRowBytes is what a row takes on the device: 2 462 bytes.
var windowRowBytes = fieldBytes[fieldMasks] + fieldBytes[fieldScalars] + fieldBytes[fieldTargets] + fieldBytes[fieldAhead] + fieldBytes[fieldLegal] + fieldBytes[fieldPolicy]

// A window holds rows on the device, a slot each, an array a field.
type window struct {
	mem    memory
	legal  []uint16 // by slot: the number of legal moves and 1; 0 = no row was kept there
	fields [numFields]driver.Ptr
	images driver.Ptr // encoding.PolicyImages
	// Rows on their way, in page-locked memory, fields one behind the other; sent is when
	// the device has them.
	chunk     []byte
	chunkRows int
	chunkAt   [numFields]int
	sent      driver.Event
}

// OpenWindow implements device.Trainer.
func (t *Trainer) OpenWindow(numRows int) (bool, error) {
	if t.window != nil {
		return false, errors.New("the device has a window already")
	}
	if numRows < 1 || numRows > device.MaxWindow {
		return false, fmt.Errorf("a window of %d rows, want 1 to %d", numRows, device.MaxWindow)
	}
	free, _, err := t.dev.driver.MemInfo()
	if err != nil {
		return false, fmt.Errorf("memory for a window of %d rows: %w", numRows, err)
	}
	if uint64(numRows)*uint64(windowRowBytes) > free/2 {
		return false, nil
	}
	w := &window{mem: memory{d: t.dev.driver}, legal: make([]uint16, numRows), chunkRows: min(numRows, windowChunk)}
	if err := w.open(t); err != nil {
		freed := w.mem.free()
		if errors.Is(err, driver.ErrOutOfMemory) && freed == nil {
			return false, nil
		}
		return false, errors.Join(fmt.Errorf("a window of %d rows: %w", numRows, err), freed)
	}
	t.window = w
	return true, nil
}

// closeWindow gives the window's memory back, if there is one; no work is under way.
func (t *Trainer) closeWindow() error {
	if t.window == nil {
		return nil
	}
	w := t.window
	t.window = nil
	return w.mem.free()
}

// open allocates, copies what never changes and makes the kernel ready.
func (w *window) open(t *Trainer) error {
	at := 0
	for f, bytes := range fieldBytes {
		w.fields[f] = w.mem.alloc(len(w.legal) * bytes)
		w.chunkAt[f] = at
		at += (w.chunkRows*bytes + 255) &^ 255
	}
	images := bytesOf(encoding.PolicyImages()[:])
	w.images, w.chunk, w.sent = w.mem.alloc(len(images)), w.mem.host(at), w.mem.event()
	if w.mem.err != nil {
		return w.mem.err
	}
	if err := t.dev.kernels.Prepare(kernels.Gather(kernels.GatherArgs{Rows: 1})); err != nil {
		return err
	}
	if err := t.copies.CopyToDevice(w.images, images); err != nil {
		return err
	}
	if err := t.copies.Record(w.sent); err != nil {
		return err
	}
	return t.copies.Synchronize()
}

// Keep implements device.Trainer. It goes on the stream of StageKept: a batch that was
// staged before has taken its rows when they are replaced.
func (t *Trainer) Keep(first int, b *encoding.TrainBatch) error {
	w := t.window
	if w == nil {
		return errors.New("keep rows: no window is open")
	}
	if first < 0 || first >= len(w.legal) {
		return fmt.Errorf("keep rows: slot %d of a window of %d", first, len(w.legal))
	}
	for i := range b.N {
		if n := len(b.LegalOf(i)); n > kernels.WindowMoves {
			return fmt.Errorf("keep rows: row %d has %d legal moves, a window has room for %d", i, n, kernels.WindowMoves)
		}
	}
	for from, slot := 0, first; from < b.N; {
		n := min(b.N-from, w.chunkRows, len(w.legal)-slot)
		if err := w.send(slot, b, from, n, t.copies); err != nil {
			return fmt.Errorf("keep rows: %w", err)
		}
		from, slot = from+n, (slot+n)%len(w.legal)
	}
	return nil
}

// send copies n rows of b, at most a chunk, to the slots from slot on.
func (w *window) send(slot int, b *encoding.TrainBatch, from, n int, st driver.Stream) error {
	if err := w.sent.Synchronize(); err != nil { // the chunk's last rows
		return err
	}
	field := func(f int) []byte { return w.chunk[w.chunkAt[f]:][:n*fieldBytes[f]] }
	copy(field(fieldMasks), bytesOf(b.Masks[from:from+n]))
	copy(field(fieldScalars), bytesOf(b.Scalars[from:from+n]))
	copy(field(fieldTargets), bytesOf(b.Targets[from:from+n]))
	copy(field(fieldAhead), bytesOf(aheadOf(nil, b.Ahead[from:from+n])))
	for i := range n {
		legal := b.LegalOf(from + i)
		copy(field(fieldLegal)[i*fieldBytes[fieldLegal]:], bytesOf(legal))
		copy(field(fieldPolicy)[i*fieldBytes[fieldPolicy]:], bytesOf(b.PolicyOf(from+i)))
		w.legal[slot+i] = uint16(len(legal) + 1)
	}
	for f, to := range w.fields {
		if err := st.CopyToDevice(to.Offset(slot*fieldBytes[f]), field(f)); err != nil {
			return err
		}
	}
	return st.Record(w.sent)
}

// StageKept implements device.Trainer.
func (t *Trainer) StageKept(rows []device.KeptRow, weights []float32) error {
	if t.window == nil {
		return errors.New("a micro-batch of kept rows: no window is open")
	}
	if len(weights) != len(rows) {
		return fmt.Errorf("a micro-batch of %d kept rows with %d weights", len(rows), len(weights))
	}
	return t.stage(func(s *rowSlot) error { return s.gather(t.window, rows, weights) })
}

// starts returns where the legal moves of each of the rows begin, and the end of all.
func (w *window) starts(rows []device.KeptRow) ([]int32, error) {
	start := make([]int32, len(rows)+1)
	for i, r := range rows {
		slot := int(r / device.KeptRow(encoding.NumTransforms))
		if slot >= len(w.legal) {
			return nil, fmt.Errorf("row %d is of slot %d, the window has %d", i, slot, len(w.legal))
		}
		if w.legal[slot] == 0 {
			return nil, fmt.Errorf("row %d is of slot %d, where no row was kept", i, slot)
		}
		start[i+1] = start[i] + int32(w.legal[slot]) - 1
	}
	return start, nil
}

// gather is fill with rows of the window: what is copied says which, 12 bytes a row,
// and a kernel makes of them what fill would have copied.
func (s *rowSlot) gather(w *window, rows []device.KeptRow, weights []float32) error {
	start, err := w.starts(rows)
	if err != nil {
		return err
	}
	n := len(rows)
	if err := s.begin(n, int(start[n])); err != nil {
		return err
	}
	st := s.t.copies
	if err := s.send(st, [numParts][]byte{partKept: bytesOf(rows), partStart: bytesOf(start), partWeight: bytesOf(weights)}); err != nil {
		return err
	}
	err = s.t.dev.kernels.Run(st, kernels.Gather(kernels.GatherArgs{
		Kept: s.part(partKept), Start: s.part(partStart), Images: w.images,
		WindowMasks: w.fields[fieldMasks], WindowScalars: w.fields[fieldScalars], WindowTargets: w.fields[fieldTargets], WindowAhead: w.fields[fieldAhead],
		WindowLegal: w.fields[fieldLegal], WindowPolicy: w.fields[fieldPolicy],
		Masks: s.part(partMasks), Scalars: s.part(partScalars), Targets: s.part(partTargets), Ahead: s.part(partAhead),
		Legal: s.legal, Policy: s.policy, Rows: int32(n),
	}))
	if err != nil {
		return err
	}
	return st.Record(s.copied)
}
