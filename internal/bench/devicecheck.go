package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/trainer"
)

// CheckOptions says what CheckDevice holds against the CPU.
type CheckOptions struct {
	Nets    []nn.Arch
	Batches []int // of inference; the largest one's positions are all that there are
	Rows    []int // of micro-batches
	Seed    uint64
}

// DefaultCheckOptions has every form of every layer, and sizes beside every tile.
func DefaultCheckOptions() CheckOptions {
	o := CheckOptions{Batches: []int{1, 2, 3, 5, 17, 64, 131, 256, 1000, 4096}, Rows: []int{1, 7, 130, 257}, Seed: rand.Uint64()}
	for _, name := range []string{"64x6", "128x10", "32x2-plain-scalar-noml", "48x2-mish", "24x2-classical", "112x1-se2-mish-scalar", "256x2", "272x1-plain", "64x2x4h-dense-smolgen-mish", "48x2-attention"} {
		a, err := nn.ParseArch(name)
		if err != nil {
			panic(err)
		}
		o.Nets = append(o.Nets, a)
	}
	return o
}

// CheckRow is the error of one comparison.
type CheckRow struct {
	Kind      string  `json:"kind"` // "check"
	What      string  `json:"what"`
	Net       string  `json:"net"`
	Precision string  `json:"precision"`
	Batch     int     `json:"batch"`
	Error     float64 `json:"error"` // NaN counts as a failure and is written as -1
	Limit     float64 `json:"limit"`
	OK        bool    `json:"ok"`
}

// CheckDevice holds inference, gradients and training steps of several nets on d,
// which it takes over, against the CPU's in fp32, and hands each comparison to show.
// It returns how many failed.
func CheckDevice(ctx context.Context, d driver.Device, o CheckOptions, show func(CheckRow) error) (failed int, err error) {
	dev, err := cuda.Open(d)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	c := &deviceCheck{o: o, dev: dev, show: show}
	for i, arch := range o.Nets {
		net := uneven(nn.Init(arch, o.Seed+uint64(i)), o.Seed)
		if err := c.net(ctx, net); err != nil {
			return c.failed, fmt.Errorf("net %s: %w", arch, err)
		}
	}
	return c.failed, nil
}

// uneven moves batch norm, biases and running statistics away from where they start,
// which would hide errors.
func uneven(net *nn.Net, seed uint64) *nn.Net {
	rng := rand.New(rand.NewPCG(seed, 17))
	for i, s := range nn.Specs(net.Arch) {
		for j := range net.Params[i].Data {
			p := &net.Params[i].Data[j]
			switch s.Kind {
			case nn.Gamma, nn.Var:
				*p = float32(.7 + .6*rng.Float64())
			case nn.Bias, nn.Beta, nn.Mean:
				*p += float32(.2 * rng.NormFloat64())
			}
		}
	}
	return net
}

// logitSize is the size of the logits of a net that is checked: about a trained one's.
const logitSize = 2

// sharpen gives the outputs of net, near uniform in a fresh one, something to say.
func sharpen(ctx context.Context, net *nn.Net, seed uint64) error {
	b := PositionBatch(16, seed)
	if err := answers(ctx, net, kernel.FP32, b); err != nil {
		return err
	}
	sum, n := 0.0, 0
	for i := range b.N {
		mean := 0.0
		for _, p := range b.PriorOf(i) {
			mean += math.Log(float64(p)) / float64(len(b.PriorOf(i)))
		}
		for _, p := range b.PriorOf(i) {
			d := math.Log(float64(p)) - mean
			sum, n = sum+d*d, n+1
		}
	}
	factor := float32(logitSize / math.Sqrt(sum/float64(n)))
	for i, s := range nn.Specs(net.Arch) {
		if s.Name == "policy.conv2.weight" || s.Name == "policy.fc.weight" || s.Name == "policy.q.weight" || s.Name == "value.fc2.weight" {
			for j := range net.Params[i].Data {
				net.Params[i].Data[j] *= factor
			}
		}
	}
	return nil
}

// deviceCheck is a check under way.
type deviceCheck struct {
	o      CheckOptions
	dev    *cuda.Device
	show   func(CheckRow) error
	failed int
}

// compare shows how far off something is of a net in a precision, at a size.
func (c *deviceCheck) compare(a nn.Arch, p device.Precision, size int, what string, off, limit float64) error {
	r := CheckRow{Kind: "check", What: what, Net: a.String(), Precision: p.String(), Batch: size, Error: off, Limit: limit, OK: off <= limit}
	if !r.OK {
		c.failed++
	}
	if math.IsNaN(off) || math.IsInf(off, 0) {
		r.Error = -1
	}
	return c.show(r)
}

// net checks one net in all precisions that the device has.
func (c *deviceCheck) net(ctx context.Context, net *nn.Net) error {
	if err := sharpen(ctx, net, c.o.Seed); err != nil {
		return err
	}
	want := PositionBatch(slices.Max(c.o.Batches), c.o.Seed)
	if err := answers(ctx, net, kernel.FP32, want); err != nil {
		return err
	}
	for _, p := range c.precisions() {
		if err := c.inference(ctx, net, p, want); err != nil {
			return fmt.Errorf("inference in %s: %w", p, err)
		}
	}
	for _, rows := range c.o.Rows {
		for _, k := range trainingChecks {
			if err := c.training(ctx, net, k, rows); err != nil {
				return fmt.Errorf("training with micro-batches of %d: %w", rows, err)
			}
		}
	}
	return nil
}

// precisions are those that the device has.
func (c *deviceCheck) precisions() []device.Precision {
	return slices.DeleteFunc([]device.Precision{device.FP32, device.BF16, device.FP16}, func(p device.Precision) bool { return !cuda.Supports(c.dev.Info(), p) })
}

// answers fills b with the CPU's answers in a precision, on all cores.
func answers(ctx context.Context, net *nn.Net, p kernel.Precision, b *encoding.Batch) error {
	packed, err := cpu.New(net, p)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	n := runtime.GOMAXPROCS(0)
	for i := range n {
		lo, hi := i*b.N/n, (i+1)*b.N/n
		if lo == hi {
			continue
		}
		part := &encoding.Batch{N: hi - lo, Masks: b.Masks[lo:hi], Scalars: b.Scalars[lo:hi], Legal: b.Legal,
			LegalStart: b.LegalStart[lo : hi+1], Prior: b.Prior, WDL: b.WDL[lo:hi], M: b.M[lo:hi]}
		group.Go(func() error { return packed.NewEvaluator(part.N).Evaluate(ctx, part) })
	}
	return group.Wait()
}

// unit is the rounding error of a precision's stored values.
func unit(p device.Precision) float64 {
	return map[device.Precision]float64{device.FP32: 1.0 / (1 << 24), device.FP16: 1.0 / (1 << 12), device.BF16: 1.0 / (1 << 9)}[p]
}

// layers is how many rounded layers lie between input and outputs; an encoder has six.
func layers(a nn.Arch) float64 {
	if a.Attention() {
		return float64(6*len(a.Blocks) + 4)
	}
	return float64(2*len(a.Blocks) + 1)
}

// inference compares every batch size with the CPU, and the answers of all with those
// of the largest, which must have the same bits. Rounding errors of the layers add up in
// logits of about logitSize: a fifth of what the limit allows was seen on the
// emulator at most. fp32 sums of a thousand products need more than one rounding each.
func (c *deviceCheck) inference(ctx context.Context, net *nn.Net, p device.Precision, want *encoding.Batch) (err error) {
	packed, err := c.dev.NewNet(net, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	limit := logitSize * unit(p) * layers(net.Arch)
	if p == device.FP32 {
		limit *= 16
	}
	var whole *encoding.Batch
	for _, n := range slices.Backward(slices.Sorted(slices.Values(c.o.Batches))) {
		got := PositionBatch(n, c.o.Seed) // the first of want
		if err := c.evaluate(ctx, packed, got); err != nil {
			return err
		}
		if whole == nil {
			whole = got
		}
		if err := cmp.Or(c.compare(net.Arch, p, n, "answers", answerError(got, want), limit),
			c.compare(net.Arch, p, n, "answers that differ from those of the largest batch", float64(differing(got, whole)), 0)); err != nil {
			return err
		}
	}
	return nil
}

func (c *deviceCheck) evaluate(ctx context.Context, net *cuda.Net, b *encoding.Batch) error {
	e, err := c.dev.NewEvaluator(net, b.N)
	if err != nil {
		return err
	}
	return errors.Join(e.Evaluate(ctx, b), e.Close())
}

// answerError is the root mean square of the errors of log priors, of WDL and of moves
// left (in units of 20 plies), over the positions of got.
func answerError(got, want *encoding.Batch) float64 {
	sum, n := 0.0, 0
	add := func(d float64) { sum, n = sum+d*d, n+1 }
	for i := range got.N {
		for j, p := range want.PriorOf(i) {
			if p > 1e-6 { // below, fp32 itself has lost digits
				add(math.Log(float64(got.PriorOf(i)[j]) / float64(p)))
			}
		}
		for k, p := range want.WDL[i] {
			add(float64(got.WDL[i][k] - p))
		}
		add(float64(got.M[i]-want.M[i]) / 20)
	}
	return math.Sqrt(sum / float64(n))
}

// differing counts the positions of got whose answers have other bits in whole.
func differing(got, whole *encoding.Batch) (n int) {
	for i := range got.N {
		if !slices.Equal(got.PriorOf(i), whole.PriorOf(i)) || got.WDL[i] != whole.WDL[i] || got.M[i] != whole.M[i] {
			n++
		}
	}
	return n
}

// trainingCheck is some steps whose outcome is compared.
type trainingCheck struct {
	what  string
	steps int
	edit  func(*trainer.Config)
}

// trainingChecks are a step of size 1, which is the gradient, and three steps with all
// that comes after it.
var trainingChecks = []trainingCheck{
	{"gradient", 1, func(k *trainer.Config) { k.Momentum, k.ClipNorm, k.Schedule = 0, 0, trainer.ConstantLR(1) }},
	{"three steps", 3, func(k *trainer.Config) {
		k.ClipNorm, k.Schedule, k.SWA = 0.5, trainer.ConstantLR(1e-3), trainer.SWAConfig{Period: 1, MaxAverages: 2}
	}},
}

// training compares steps of two micro-batches each, the second one shorter, with the
// CPU's, and with the same steps on rows that the device keeps.
func (c *deviceCheck) training(ctx context.Context, net *nn.Net, k trainingCheck, rows int) error {
	cfg := trainer.DefaultConfig()
	cfg.BatchSize, cfg.GradAccumSteps, cfg.Losses = rows, 2, trainer.LossesFor(net.Arch, cfg.Losses)
	k.edit(&cfg)
	want, err := c.change(ctx, net, cfg, k.steps, false)
	if err != nil {
		return err
	}
	cfg.Device = func(dc device.Config) (device.Trainer, error) { return c.dev.NewTrainer(dc) }
	for _, p := range c.precisions() {
		cfg.Precision = p
		var got [2]netChange
		for i, kept := range []bool{false, true} {
			if got[i], err = c.change(ctx, net, cfg, k.steps, kept); err != nil {
				return fmt.Errorf("in %s: %w", p, err)
			}
		}
		limit, statistics := gradientLimit(net.Arch, p)*float64(min(k.steps, 2)), max(8*unit(p), 1e-5)
		differ := numDiffering(got[0].trained, got[1].trained) + numDiffering(got[0].running, got[1].running)
		if err := cmp.Or(c.compare(net.Arch, p, rows, k.what, distance(got[0].trained, want.trained), limit),
			c.compare(net.Arch, p, rows, k.what+": running statistics", distance(got[0].running, want.running), statistics),
			c.compare(net.Arch, p, rows, k.what+" on rows kept there: numbers that differ", float64(differ), 0)); err != nil {
			return err
		}
	}
	return nil
}

// gradientLimit is how far the whole gradient may be off, as a share of its length. A
// ReLU whose input has another sign turns a rounding error into a wrong gradient: on the
// emulator 0.14 in bf16 and 0.07 in fp16 were seen with six blocks, where a smooth
// activation has 0.01 and 0.002 with two.
func gradientLimit(a nn.Arch, p device.Precision) float64 {
	limits := map[device.Precision]float64{device.FP32: 1e-3, device.FP16: 0.05, device.BF16: 0.12}
	if a.Activation == nn.Mish {
		limits = map[device.Precision]float64{device.FP32: 1e-3, device.FP16: 0.004, device.BF16: 0.02}
	}
	return limits[p] * math.Sqrt(layers(a))
}

// netChange is what steps do to the trained weights of a net and to its running
// statistics, and to the average of both.
type netChange struct{ trained, running []float32 }

// change takes steps with net, on rows that the device keeps or that come with each
// batch.
func (c *deviceCheck) change(ctx context.Context, net *nn.Net, cfg trainer.Config, steps int, kept bool) (change netChange, err error) {
	src := newUnevenRows(cfg.BatchSize, c.o.Seed)
	if src.named = kept; kept {
		cfg.Window = src.all.N
	}
	t, err := trainer.New(net, cfg)
	if err != nil {
		return change, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if t.KeptRows() != cfg.Window {
		return change, fmt.Errorf("no room for %d rows on the device", cfg.Window)
	}
	for taken := 0; taken < steps; {
		s, err := t.Step(ctx, src)
		switch {
		case err != nil:
			return change, err
		case !s.Skipped:
			taken++
		case s.LossScale == 1:
			return change, fmt.Errorf("step %d was skipped: loss %v, gradient norm %v", s.Step, s.Objective, s.GradNorm)
		default: // a smaller loss scale, and the same rows again
			src.at -= 2
		}
	}
	for _, n := range []*nn.Net{t.Net(), t.SWA()} {
		if n == nil {
			continue
		}
		for i, s := range nn.Specs(net.Arch) {
			to := &change.running
			if s.Kind.Trained() {
				to = &change.trained
			}
			for j, x := range n.Params[i].Data {
				*to = append(*to, x-net.Params[i].Data[j])
			}
		}
	}
	return change, nil
}

// distance is the length of got-want by that of want.
func distance(got, want []float32) float64 {
	diff, size := 0.0, 0.0
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff, size = diff+d*d, size+float64(w)*float64(w)
	}
	return math.Sqrt(diff / size)
}

func numDiffering(a, b []float32) (n int) {
	for i, x := range a {
		if math.Float32bits(x) != math.Float32bits(b[i]) {
			n++
		}
	}
	return n
}

// unevenRows gives micro-batches of so many rows and of two thirds of that, in turn,
// each of other rows under other symmetries.
type unevenRows struct {
	all    *encoding.TrainBatch
	rows   int
	at     int // micro-batches given
	starts []int
	named  bool // rows come by number
}

func newUnevenRows(rows int, seed uint64) *unevenRows {
	s := &unevenRows{rows: rows, all: encoding.NewTrainBatch(1)}
	appendRows(s.all, 8*rows)
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 64 {
		s.starts = append(s.starts, rng.IntN(s.all.N))
	}
	return s
}

// Next fills b.
func (s *unevenRows) Next(_ context.Context, b *encoding.TrainBatch) error {
	if s.at == len(s.starts) {
		return io.EOF
	}
	n := s.rows
	if s.at%2 == 1 {
		n = (2*s.rows + 2) / 3
	}
	if s.named {
		b.Kept.Of = s
	}
	for i := range n {
		row, draw := (s.starts[s.at]+i)%s.all.N, uint64(s.at*s.rows+i)
		if s.named {
			b.AppendKept(uint64(row), s.all.Weight[row])
			b.Kept.Draw = append(b.Kept.Draw, draw)
			continue
		}
		b.AppendRow(s.all, row)
		b.ApplySymmetry(i, b.DrawSymmetry(i, draw))
	}
	s.at++
	return nil
}

// Range implements encoding.RowReader.
func (s *unevenRows) Range() (from, to uint64) { return 0, uint64(s.all.N) }

// ReadRows implements encoding.RowReader.
func (s *unevenRows) ReadRows(b *encoding.TrainBatch, from uint64) (next uint64, err error) {
	b.AppendRow(s.all, int(from))
	return from + 1, nil
}
