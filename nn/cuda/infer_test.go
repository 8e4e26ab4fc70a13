package cuda

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/nn/device"
)

// tolerances of the log of priors: the rounding of stored values, 2^-9 in bf16 and
// 2^-12 in fp16, times logits of about 5 and the root of some ten roundings on the way
// gives 0.03 and 0.004; fp32 sums of a thousand products are good to 1e-5. Errors seen
// reach half of these. An attention net rounds some three times as often, its sums too.
var tolerances = map[device.Precision]float64{device.FP32: 2e-5, device.BF16: 0.04, device.FP16: 0.006}

var precisionNames = map[device.Precision]string{device.FP32: "fp32", device.BF16: "bf16", device.FP16: "fp16"}

// Whole nets agree with the float64 reference, in every form and precision.
func TestNetsAgainstReference(t *testing.T) {
	seed := freshSeed(t)
	nets := map[device.Precision][]string{
		device.FP16: {"16x1", "24x1-se2", "16x1-aux", "32x2", "48x1-mish", "64x1-plain", "32x1-classical", "96x1-scalar-noml", "16x1-pooled"},
		device.BF16: {"16x2-mish-scalar", "48x1", "32x1-plain-noml", "24x1-classical-noml", "256x1"},
		device.FP32: {"16x1", "24x1-mish", "16x1-plain-noml", "16x1-classical-scalar", "16x1-pooled-scalar"},
	}
	for i, name := range slices.Sorted(maps.Keys(nntest.AttentionNets())) {
		p := []device.Precision{device.FP16, device.BF16, device.FP32}[i%3]
		nets[p] = append(nets[p], "*"+name)
		if slow.On {
			p = []device.Precision{device.FP16, device.BF16, device.FP32}[(i+1)%3]
			nets[p] = append(nets[p], "*"+name)
		}
	}
	if slow.On {
		nets[device.BF16] = append(nets[device.BF16], "264x1")
	}
	for precision, names := range nets {
		for _, name := range names {
			t.Run(precisionNames[precision]+"/"+name, func(t *testing.T) {
				n := inferenceNet(t, name, seed)
				d := openEmulated(t, emulated.Options{Races: true})
				all := randomPositions(seed, 3)
				boards := 3
				if n.Arch.Width() > 64 {
					boards = 1
				}
				e := newEvaluator(t, d, newNet(t, d, n, precision), 4)
				b := pick(all, []int{1, 0, 2}[:boards]...)
				evaluate(t, e, b)
				spread, worst, tolerance := 0.0, 0.0, tolerances[precision]
				if strings.HasPrefix(name, "*") {
					tolerance *= 3
				}
				for i := range b.N {
					want := reference.Forward(n, &b.Masks[i], &b.Scalars[i], b.LegalOf(i)...)
					spread += compare(t, b, i, &want, tolerance, &worst)
				}
				t.Logf("largest error %.2g of the tolerance of %g", worst, tolerance)
				if spread < .5 {
					t.Errorf("the policies are flat (%g): the test shows nothing", spread)
				}
			})
		}
	}
}

// Nets of up to 256 filters are fused in bf16 and fp16; the rest goes layer by layer.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name      string
		precision device.Precision
		fused     bool
	}{{"16x1", device.BF16, true}, {"256x1", device.FP16, true}, {"257x1", device.BF16, false}, {"16x1", device.FP32, false}} {
		d := openEmulated(t, emulated.Options{})
		n := newNet(t, d, inferenceNet(t, c.name, 1), c.precision)
		if _, fused := n.form.(*fusedNet); fused != c.fused {
			t.Errorf("%s in %s: fused is %v, want %v", c.name, precisionNames[c.precision], fused, c.fused)
		}
		if n.mem.bytes < 2*n.arch.NumParams() {
			t.Errorf("%s takes %d bytes for %d parameters", c.name, n.mem.bytes, n.arch.NumParams())
		}
	}
}

// A position's answer has the same bits alone, in any batch, at any place, with any
// number of boards to a block, and with the streams' work done in any allowed order.
func TestBatchIndependence(t *testing.T) {
	seed := freshSeed(t)
	for _, c := range []struct {
		name      string
		precision device.Precision
	}{{"24x1", device.FP16}, {"16x1-classical", device.BF16}, {"16x1", device.FP32}, {"*dense", device.BF16}, {"*encoded", device.FP32}} {
		t.Run(fmt.Sprintf("%s-%s", c.name, precisionNames[c.precision]), func(t *testing.T) {
			d := openEmulated(t, emulated.Options{Shuffled: true})
			packed := newNet(t, d, inferenceNet(t, c.name, seed), c.precision)
			all := randomPositions(seed, 5)
			single := newEvaluator(t, d, packed, 1)
			want := pick(all, 0, 1, 2, 3, 4)
			evaluate(t, single, want) // in five batches of one
			if f, ok := packed.form.(*fusedNet); ok {
				f.info.SMs = 1 // several boards to a block, from here on
			}
			e := newEvaluator(t, d, packed, 5)
			for _, order := range [][]int{{3, 1}, {0, 4, 2}, {4, 3, 2, 1, 0}} {
				b := pick(all, order...)
				evaluate(t, e, b)
				for k, i := range order {
					if !sameAnswer(b, k, want, i) {
						t.Errorf("batch %v: position %d differs", order, i)
					}
				}
			}
		})
	}
}

// A device with little shared memory runs fused what fits and the rest layer by layer,
// with answers near each other.
func TestSmallDevice(t *testing.T) {
	d := openEmulated(t, emulated.Options{Major: 6, Minor: 1})
	if Supports(d.Info(), device.BF16) {
		t.Error("compute capability 6.1 is said to have bf16")
	}
	n := inferenceNet(t, "16x1", 3)
	if _, err := d.NewNet(n, device.FP16); err == nil {
		t.Error("fp16 is not refused on compute capability 6.1")
	}
	e := newEvaluator(t, d, newNet(t, d, n, device.FP32), 2)
	b := randomPositions(5, 1)
	evaluate(t, e, b)
	want := reference.Forward(n, &b.Masks[0], &b.Scalars[0])
	compare(t, b, 0, &want, tolerances[device.FP32], new(float64))
}

func TestBuckets(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 7: 8, 9: 12, 13: 16, 17: 24, 97: 100, 65: 96, 100: 100} {
		if got := bucket(n, 100); got != want {
			t.Errorf("%d positions go to a bucket of %d, want %d", n, got, want)
		}
	}
	for n := 1; n <= encoding.NumPolicy; n++ {
		if got := bucket(n, 4096); got < n || got > n+n/2 {
			t.Fatalf("%d positions go to a bucket of %d", n, got)
		}
	}
}
