package trainer

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// SectionName and SectionVersion are those of the trainer's checkpoint section.
const (
	SectionName    = "trainer"
	SectionVersion = 1
)

// The section's bytes, little endian:
//
//	"CBTR" | header length u32 | header JSON | float32 data of the tensors | CRC-32C u32
//
// The header lists the tensors in order with their lengths; the CRC covers all
// bytes before it. Floats keep their bits, so saving and loading changes nothing.
const (
	stateMagic     = "CBTR"
	maxStateHeader = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stateHeader is all of the state but the tensors. The trainer draws no random
// numbers; the seed is kept for the record.
type stateHeader struct {
	Arch           json.RawMessage `json:"arch"`
	Optimizer      string          `json:"optimizer"`
	OptimizerSteps int64           `json:"optimizer_steps"`
	Progress       progress        `json:"progress"`
	LossScale      float64         `json:"loss_scale"`
	GoodSteps      int64           `json:"good_steps"` // since the loss scale last changed
	SWA            bool            `json:"swa"`
	SWACount       float64         `json:"swa_count"`
	Seed           uint64          `json:"seed"`
	Tensors        []tensorEntry   `json:"tensors"`
}

type tensorEntry struct {
	Name string `json:"name"`
	Len  int    `json:"len"`
}

// Section is the trainer's part of a checkpoint: weights with running
// statistics, moments, averaged weights, loss scale, and the counts of steps and
// samples from which the learning-rate schedule follows. A load that fails
// changes nothing; errors are a *checkpoint.CorruptError or wrap checkpoint.ErrStateMismatch.
func (t *Trainer) Section() stage.Section {
	return stage.Section{Name: SectionName, Version: SectionVersion, Save: t.save, Load: func(r io.Reader, version int) error {
		h, data, err := readState(r, version, t.fits)
		if err != nil {
			return err
		}
		return t.adopt(h, data)
	}}
}

// namedTensors lists the tensors of the state in their order in the file.
type namedTensors struct {
	entries []tensorEntry
	data    [][]float32
}

func (n *namedTensors) add(name string, data []float32) {
	n.entries = append(n.entries, tensorEntry{name, len(data)})
	n.data = append(n.data, data)
}

// tensors lists the trainer's tensors; swa says whether an average is among them.
func (t *Trainer) tensors(swa [][]float32) *namedTensors {
	var n namedTensors
	for i, s := range t.specs {
		n.add("net."+s.Name, t.net.Params[i].Data)
	}
	for _, m := range t.opt.moments {
		for i, s := range t.trained() {
			n.add(m.name+"."+s.Name, m.data[i])
		}
	}
	for i, data := range swa {
		n.add("swa."+t.specs[i].Name, data)
	}
	return &n
}

// save writes the state; a state that is not finite is an error, so that none
// is ever exported.
func (t *Trainer) save(w io.Writer) error {
	if t.pull(true); t.failed != nil {
		return fmt.Errorf("save trainer state: %w", t.failed)
	}
	arch, archErr := json.Marshal(t.net.Arch)
	tensors := t.tensors(t.swa.params)
	header, err := json.Marshal(stateHeader{
		Arch: arch, Optimizer: t.cfg.Optimizer, OptimizerSteps: t.opt.steps, Progress: t.progress,
		LossScale: t.scaler.scale, GoodSteps: t.scaler.good,
		SWA: t.swa.params != nil, SWACount: t.swa.n, Seed: t.cfg.Seed, Tensors: tensors.entries,
	})
	if err = cmp.Or(archErr, err); err != nil {
		return fmt.Errorf("save trainer state: %w", err)
	}
	sum := crc32.New(castagnoli)
	out := io.MultiWriter(w, sum)
	prefix := binary.LittleEndian.AppendUint32([]byte(stateMagic), uint32(len(header)))
	if _, err := out.Write(append(prefix, header...)); err != nil {
		return err
	}
	var buf []byte
	for i, data := range tensors.data {
		if j := slices.IndexFunc(data, func(x float32) bool { return x-x != 0 }); j >= 0 {
			return fmt.Errorf("save trainer state: %s holds %v: %w", tensors.entries[i].Name, data[j], ErrNonFinite)
		}
		if buf, err = nn.WriteFloats(out, buf, data); err != nil {
			return err
		}
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// readState reads a whole state; check sees the header before anything of the size
// that it claims is read.
func readState(r io.Reader, version int, check func(*stateHeader) error) (*stateHeader, [][]float32, error) {
	if version != SectionVersion {
		return nil, nil, fmt.Errorf("%w: section version %d, this build knows %d", checkpoint.ErrStateMismatch, version, SectionVersion)
	}
	sum := crc32.New(castagnoli)
	in := io.TeeReader(r, sum)
	h, err := readStateHeader(in)
	if err != nil {
		return nil, nil, err
	}
	if err := check(h); err != nil {
		return nil, nil, err
	}
	if h.Progress.Step < 0 || h.Progress.Samples < 0 || h.OptimizerSteps < 0 || !(h.LossScale >= 1) || math.IsInf(h.LossScale, 0) || !(h.SWACount >= 0) {
		return nil, nil, stateError("a count or the loss scale is out of range")
	}
	data := make([][]float32, len(h.Tensors))
	for i, e := range h.Tensors {
		if data[i], err = nn.ReadFloats(in, e.Len); err != nil {
			return nil, nil, stateError("it ends within tensor %s", e.Name)
		}
	}
	want := sum.Sum32()
	var trailer [5]byte // one more than the CRC: nothing may follow
	if n, err := io.ReadFull(r, trailer[:]); n != 4 || !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, stateError("%d bytes after the tensors instead of 4", n)
	}
	if binary.LittleEndian.Uint32(trailer[:]) != want {
		return nil, nil, stateError("the checksum does not match")
	}
	return h, data, nil
}

func stateError(format string, args ...any) error {
	return &checkpoint.CorruptError{Path: "trainer state", Reason: fmt.Sprintf(format, args...)}
}

func readStateHeader(r io.Reader) (*stateHeader, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, stateError("it ends within its first 8 bytes")
	}
	if string(prefix[:4]) != stateMagic {
		return nil, stateError("it begins with %q instead of %q", prefix[:4], stateMagic)
	}
	n := binary.LittleEndian.Uint32(prefix[4:])
	if n > maxStateHeader {
		return nil, stateError("a header of %d bytes", n)
	}
	// Grown as bytes arrive: a wrong length must not cost its memory.
	var raw bytes.Buffer
	if got, err := io.CopyN(&raw, r, int64(n)); err != nil {
		return nil, stateError("the header has %d bytes instead of %d", got, n)
	}
	var h stateHeader
	if err := json.Unmarshal(raw.Bytes(), &h); err != nil {
		return nil, stateError("header: %v", err)
	}
	return &h, nil
}

// fits checks that a state belongs to this net and optimizer, before anything
// of the size that it claims is read.
func (t *Trainer) fits(h *stateHeader) error {
	arch, err := json.Marshal(t.net.Arch)
	var swa [][]float32
	if h.SWA {
		swa = t.paramData() // same names and lengths
	}
	want := t.tensors(swa).entries
	switch {
	case err != nil:
		return err
	case !bytes.Equal(arch, h.Arch):
		return fmt.Errorf("%w: it is of a net %s, this one is %s", checkpoint.ErrStateMismatch, h.Arch, arch)
	case h.Optimizer != t.cfg.Optimizer:
		return fmt.Errorf("%w: its optimizer is %s, the configured one is %s", checkpoint.ErrStateMismatch, h.Optimizer, t.cfg.Optimizer)
	case len(want) != len(h.Tensors):
		return fmt.Errorf("%w: it has %d tensors, want %d", checkpoint.ErrStateMismatch, len(h.Tensors), len(want))
	}
	for i := range want {
		if want[i] != h.Tensors[i] {
			return fmt.Errorf("%w: tensor %d is %v, want %v", checkpoint.ErrStateMismatch, i, h.Tensors[i], want[i])
		}
	}
	return nil
}

// adopt takes over a state that was read whole.
func (t *Trainer) adopt(h *stateHeader, data [][]float32) error {
	t.swa.params, t.swa.n = nil, h.SWACount
	if h.SWA {
		t.swa.reserve(t.paramData())
	}
	for i, dst := range t.tensors(t.swa.params).data {
		copy(dst, data[i])
	}
	t.opt.steps = h.OptimizerSteps
	t.progress = h.Progress
	if t.scaler.dynamic {
		t.scaler.scale, t.scaler.good = h.LossScale, h.GoodSteps
		if h.LossScale == 1 { // of a precision without a loss scale
			t.scaler = newLossScaler(true)
		}
	}
	return t.dev.push()
}
