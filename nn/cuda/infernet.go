package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Net is a net packed for inference, in the memory of one device. It is immutable
// and safe for use by many goroutines.
type Net struct {
	dev  *Device
	arch nn.Arch
	id   string
	form form

	mu    sync.Mutex
	users int // the owner, evaluators that have it, batches under way
	close sync.Once
	mem   memory
}

// form is how a net computes: fused in one kernel (fusedNet), or layer by layer
// (layeredNet).
type form interface {
	// limit is the most boards of one batch.
	limit() int
	// work returns the bytes of activations that a batch of up to boards needs.
	work(boards int) int
	// shapes lists those that the first launch can have, the one that should be the
	// fastest first; none where there is no choice. Answers do not depend on it.
	shapes(boards int) []kernels.TowerShape
	// launches lists the kernels for a batch of up to boards, whose inputs, outputs
	// and activations lie as io says.
	launches(boards int, shape kernels.TowerShape, io batchMemory) []kernels.Launch
}

// batchMemory is where a batch lies on the device.
type batchMemory struct {
	count, masks, scalars, start, legal driver.Ptr
	prior, wdl, movesLeft               driver.Ptr
	work                                driver.Ptr // 256-byte aligned
}

// computed are the blocks and heads that this package plays and trains.
var computed = []string{
	nn.BlockInput, nn.BlockResidual, nn.PolicyConvolutional, nn.PolicyClassical, nn.HeadFlattened, nn.HeadPooled,
	nn.BlockEmbedding, nn.BlockDenseEmbedding, nn.BlockEncoder, nn.BlockSmolgen, nn.PolicyAttention, nn.PolicyEncoded,
}

// Computes refuses a net that this package does not know. Errors wrap nn.ErrArch.
func Computes(a nn.Arch) error { return a.Only("a GPU", computed...) }

// attends reports whether a net has attention, in its body or its policy.
func attends(a nn.Arch) bool { return a.Attention() || a.Head(nn.Policy).Attends() }

// NewNet packs n, with batch norm folded into the convolutions, and sends it to the
// device; n is not kept. Close it when no new use begins. Errors wrap nn.ErrArch,
// nn.ErrParams, nn.ErrNotFinite (also for a weight above fp16's 65504) or
// driver.ErrOutOfMemory. bf16 and fp16 towers of up to 256 filters go in one fused kernel,
// others and attention nets layer by layer.
func (d *Device) NewNet(n *nn.Net, p device.Precision) (*Net, error) {
	t, err := d.storage(p)
	if err := cmp.Or(err, n.Validate(), n.CheckFinite(), Computes(n.Arch)); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	f := nn.Fold(n)
	if err := fitsType(n, f, t); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	c := &Net{dev: d, arch: n.Arch.Clone(), id: n.ID(), users: 1, mem: memory{d: d.driver}}
	var b blob
	if fused := packFused(&b, d.Info(), f, t); fused != nil {
		c.form = fused
	} else {
		c.form = packLayered(&b, n.Playing(), f, t)
	}
	if err := b.send(&c.mem); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: net %s: %w", n.Arch, err), c.mem.free())
	}
	return c, nil
}

// fitsType refuses weights that fp16 does not hold: of n, folded.
func fitsType(n *nn.Net, f *nn.Folded, t kernels.Type) error {
	if t != kernels.FP16 {
		return nil
	}
	const most = 65504
	var errs []error
	check := func(what string, weights []float32) {
		if i := slices.IndexFunc(weights, func(v float32) bool { return v > most || v < -most }); i >= 0 {
			errs = append(errs, fmt.Errorf("%w: weight %d of %s is %g, fp16 ends at %d: use bf16", nn.ErrNotFinite, i, what, weights[i], most))
		}
	}
	if attends(n.Arch) { // most of it is not folded
		for i, s := range nn.Specs(n.Arch) {
			if s.Kind == nn.Weight {
				check(s.Name, n.Params[i].Data)
			}
		}
	}
	for _, l := range f.All() {
		for _, c := range l.Convs {
			check(c.Name, c.Weight)
		}
		for _, d := range l.Dense {
			check(d.Name, d.Weight)
		}
	}
	return errors.Join(errs...)
}

// ID returns the identity of the weights, nn.Net.ID.
func (n *Net) ID() string { return n.id }

// Close says that the owner begins no new use. The memory is given back when
// evaluators and batches under way have let go of the net too.
func (n *Net) Close() (err error) {
	n.close.Do(func() { err = n.release() })
	return err
}

// retain counts one more user; it panics after the last one has gone.
func (n *Net) retain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.users == 0 {
		panic("cuda: use of a closed net")
	}
	n.users++
}

// release counts one user less; the last one frees the memory.
func (n *Net) release() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users--
	if n.users > 0 {
		return nil
	}
	if err := n.mem.free(); err != nil {
		return fmt.Errorf("cuda: free net %s: %w", n.arch, err)
	}
	return nil
}

// activation returns that of the kernels: of all of them the first two.
func activation(name string) int32 {
	return map[string]int32{nn.ReLU: kernels.ActReLU, nn.Mish: kernels.ActMish, nn.ReLU2: kernels.ActReLU2, nn.Swish: kernels.ActSwish, nn.SELU: kernels.ActSELU}[name]
}

// policyPlaces says where the logit of a policy index lies in the output of a head of
// that kind: of the last convolution, [64][80], or in order for the classical head.
func policyPlaces(kind string) []uint16 {
	place := make([]uint16, encoding.NumPolicy)
	for i, at := range encoding.ConvPolicyIndex() {
		if place[i] = uint16(i); kind != nn.PolicyClassical {
			place[i] = at%encoding.NumSquares*encoding.NumConvPlanes + at/encoding.NumSquares
		}
	}
	return place
}

// squaresFirst orders the columns of a layer after a convolution for activations
// [64][channels], channels padded: column c*64+square goes to square*padded+c.
func squaresFirst(d *nn.Dense, padded int) []float32 {
	const squares = encoding.NumSquares
	channels, row := d.In/squares, squares*padded
	w := make([]float32, d.Out*row)
	for o := range d.Out {
		for c := range channels {
			for sq := range squares {
				w[o*row+sq*padded+c] = d.Weight[o*d.In+c*squares+sq]
			}
		}
	}
	return w
}

// roundUp returns the least multiple of step that is not less than n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }
