package cuda

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// blobAlign is the alignment of a blob's parts: that of 16-byte accesses, and of the
// lines of the second-level cache.
const blobAlign = 128

// blob collects what a net has on the device, to be sent in one copy. Until then a
// part is known by its offset; at turns that into an address.
type blob struct {
	data []byte
	base driver.Ptr
}

// part is where a part lies in a blob; none stands for a part that is not there.
type part int

const none part = -1

// add appends bytes.
func (b *blob) add(data []byte) part {
	for len(b.data)%blobAlign != 0 {
		b.data = append(b.data, 0)
	}
	at := part(len(b.data))
	b.data = append(b.data, data...)
	return at
}

// floats appends fp32 numbers.
func (b *blob) floats(v []float32) part { return b.add(bytesOf(v)) }

// at returns a part's address; 0 for none.
func (b *blob) at(p part) driver.Ptr {
	if p == none {
		return 0
	}
	return b.base.Offset(int(p))
}

// send allocates the blob's memory and fills it.
func (b *blob) send(m *memory) error {
	b.base = m.alloc(len(b.data))
	if m.err != nil {
		return m.err
	}
	once := memory{d: m.d}
	s, err := once.stream(), once.err
	if err == nil {
		err = s.CopyToDevice(b.base, b.data)
	}
	if err == nil {
		err = s.Synchronize()
	}
	if err = errors.Join(err, once.free()); err != nil {
		return fmt.Errorf("send weights: %w", err)
	}
	b.data = nil
	return nil
}

// stored returns v as the device stores it, rounded to the nearest.
// Numbers too large for fp16 become infinite.
func stored(t kernels.Type, v []float32) []byte {
	if t == kernels.F32 {
		return bytesOf(v)
	}
	round := nn.ToBFloat16
	if t == kernels.FP16 {
		round = nn.ToFloat16
	}
	data := make([]uint16, len(v))
	for i, x := range v {
		data[i] = round(x)
	}
	return bytesOf(data)
}
