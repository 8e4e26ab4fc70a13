package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Errors about a net's parameters.
var (
	ErrParams    = errors.New("parameters do not fit the architecture")
	ErrNotFinite = errors.New("a number is not finite")
)

// Param is a named parameter.
type Param = Tensor

// Net is an architecture and its parameters, in the order of Specs. Batch norm
// is not folded: var holds the variance, eps is 1e-5.
type Net struct {
	Arch   Arch
	Params []Param
}

// Get returns the data of a parameter, shared with the net, or nil if there is
// none of that name.
func (n *Net) Get(name string) []float32 {
	if p := n.param(name); p != nil {
		return p.Data
	}
	return nil
}

func (n *Net) param(name string) *Param {
	if i := slices.IndexFunc(n.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
		return &n.Params[i]
	}
	return nil
}

// Len is how many numbers the parameters have, statistics of batch norm included.
func (n *Net) Len() (total int) {
	for _, p := range n.Params {
		total += len(p.Data)
	}
	return total
}

// Clone returns a deep copy.
func (n *Net) Clone() *Net {
	c := &Net{Arch: n.Arch.Clone(), Params: slices.Clone(n.Params)}
	for i := range c.Params {
		c.Params[i].Shape = slices.Clone(c.Params[i].Shape)
		c.Params[i].Data = slices.Clone(c.Params[i].Data)
	}
	return c
}

// Validate checks the architecture (ErrArch) and that the parameters are those
// of Specs (ErrParams). Numbers may be anything; see CheckFinite.
func (n *Net) Validate() error {
	if err := n.Arch.Validate(); err != nil {
		return err
	}
	specs := Specs(n.Arch)
	for i, s := range specs {
		if i >= len(n.Params) {
			return fmt.Errorf("%w: net %s wants %d tensors, there are %d; the first missing is %s", ErrParams, n.Arch, len(specs), len(n.Params), s.Name)
		}
		if err := fits(&n.Params[i], s); err != nil {
			return fmt.Errorf("%w: net %s: %w", ErrParams, n.Arch, err)
		}
	}
	if len(n.Params) > len(specs) {
		return fmt.Errorf("%w: net %s has no tensor %s", ErrParams, n.Arch, n.Params[len(specs)].Name)
	}
	return nil
}

func fits(p *Param, s ParamSpec) error {
	switch {
	case p.Name != s.Name:
		return fmt.Errorf("tensor %s stands where %s is wanted", p.Name, s.Name)
	case !slices.Equal(p.Shape, s.Shape):
		return fmt.Errorf("tensor %s has shape %v, want %v", p.Name, p.Shape, s.Shape)
	case len(p.Data) != s.Len():
		return fmt.Errorf("tensor %s has %d numbers, want %d", p.Name, len(p.Data), s.Len())
	}
	return nil
}

// CheckFinite returns ErrNotFinite with the place of the first parameter that is
// NaN or infinite, or a running variance that is negative; else nil.
func (n *Net) CheckFinite() error {
	for _, p := range n.Params {
		isVar := strings.HasSuffix(p.Name, "."+Var.String())
		if !isVar && allFinite(p.Data) {
			continue
		}
		for i, v := range p.Data {
			switch {
			case v-v != 0:
				return fmt.Errorf("%w: %s[%d] is %v", ErrNotFinite, p.Name, i, v)
			case v < 0 && isVar:
				return fmt.Errorf("%w: %s[%d] is a negative variance, %v", ErrParams, p.Name, i, v)
			}
		}
	}
	return nil
}

// allFinite says whether no number is NaN or infinite. Four sums do not wait for each other.
func allFinite(x []float32) bool {
	var a, b, c, d float32 // v - v is 0 of a finite number, else NaN
	for len(x) >= 4 {
		a, b, c, d = a+(x[0]-x[0]), b+(x[1]-x[1]), c+(x[2]-x[2]), d+(x[3]-x[3])
		x = x[4:]
	}
	for _, v := range x {
		a += v - v
	}
	return a+b+c+d == 0
}

// ID returns the net's identity: the SHA-256, in hexadecimal, over the
// parameters in order, each as name, a zero byte, the number of dimensions and
// the dimensions as little-endian u32, and the float32 data, little endian. The
// architecture and metadata are not part of it.
func (n *Net) ID() string {
	h := sha256.New()
	var buf []byte
	for i := range n.Params {
		p := &n.Params[i]
		buf = append(append(buf[:0], p.Name...), 0)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(p.Shape)))
		for _, d := range p.Shape {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(d))
		}
		h.Write(buf)
		buf, _ = WriteFloats(h, buf, p.Data) // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

// WriteFloats writes data little endian through buf, which it returns for reuse.
func WriteFloats(w io.Writer, buf []byte, data []float32) ([]byte, error) {
	for block := range slices.Chunk(data, 16<<10) {
		buf = buf[:0]
		for _, v := range block {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		if _, err := w.Write(buf); err != nil {
			return buf, err
		}
	}
	return buf, nil
}
