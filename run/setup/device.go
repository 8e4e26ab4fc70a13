package setup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Device is a device assignment: where something is computed. GPUs by their numbers among those
// that CUDA_VISIBLE_DEVICES shows, which share the work, or, without any, the CPU.
type Device []int

var onCPU Device

// isCPU says whether no GPU computes.
func (p Device) isCPU() bool { return len(p) == 0 }

// String is cpu, cuda:0 or cuda:0+1.
func (p Device) String() string {
	if p.isCPU() {
		return "cpu"
	}
	var numbers []string
	for _, n := range p {
		numbers = append(numbers, strconv.Itoa(n))
	}
	return "cuda:" + strings.Join(numbers, "+")
}

// gpus is what devices are resolved with: the driver's, but for tests.
type gpus struct {
	// count is how many there are; fault is why they could not be counted.
	count func() (n int, fault error)
	info  func(ordinal int) (driver.Info, error)
	open  func(ordinal int) (driver.Device, error)
	left  bool // all devices are the CPU
}

// Leave has this process compute on the CPU whatever is configured: a GPU has failed.
func (g *gpus) Leave() { g.left, g.count = true, func() (int, error) { return 0, nil } }

// Left says whether that is so.
func (g *gpus) Left() bool { return g.left }

// GpusOf returns GPUs that are counted once, and described again only where two ask at once.
func GpusOf(count func() (int, error), info func(ordinal int) (driver.Info, error), open func(ordinal int) (driver.Device, error)) *gpus {
	var known sync.Map // driver.Info by ordinal
	return &gpus{
		count: sync.OnceValues(count),
		open:  open,
		info: func(ordinal int) (driver.Info, error) {
			if i, ok := known.Load(ordinal); ok {
				return i.(driver.Info), nil
			}
			i, err := info(ordinal)
			if err == nil {
				known.Store(ordinal, i)
			}
			return i, err
		},
	}
}

// number is how many GPUs can be used.
func (g *gpus) number() int {
	n, err := g.count()
	if err != nil {
		return 0
	}
	return n
}

// Machine is this machine's GPUs; in a build without CUDA it has none.
var Machine = GpusOf(driver.Count, driver.Describe, driver.Open)

// deviceOf reads a device's name, not auto. All GPUs of a machine without any are its first,
// which is not there.
func deviceOf(name string) (d Device) {
	numbers, gpu := strings.CutPrefix(name, "cuda:")
	switch {
	case Machine.left:
		return onCPU
	case name == "cuda":
		return Device{0}
	case !gpu:
		return onCPU
	case numbers == "all":
		for n := range max(1, Machine.number()) {
			d = append(d, n)
		}
		return d
	}
	for number := range strings.SplitSeq(numbers, "+") {
		n, _ := strconv.Atoi(number) // of at most three digits
		d = append(d, n)
	}
	return d
}

// TrainerDevice is where a configuration trains: auto is a GPU for a net that it computes.
func TrainerDevice(c *config.Config) Device {
	name := c.GetTraining().GetDevice()
	if name == "auto" && Machine.number() > 0 && forCPUs(c) == nil {
		return Device{0}
	}
	return deviceOf(name)
}

// forCPUs says why no GPU computes the net that a configuration begins with; nil = one does,
// or the net is faulty, which others say.
func forCPUs(c *config.Config) error {
	arch, err := firstArch(c)
	if err != nil {
		return nil
	}
	return cuda.Computes(arch)
}

// CheckGPU refuses a GPU that was asked for a net that none computes: before the search
// for a GPU, which would be of no use.
func CheckGPU(e *config.Effective, trains bool) error {
	c := e.Config
	for _, d := range devicesOf(c, trains) {
		ours := d.field == "training.device" || c.GetSelfplay().GetModelsDir() == ""
		if !d.used || !ours || deviceOf(d.name).isCPU() {
			continue
		}
		if err := forCPUs(c); err != nil {
			return e.Errorf(d.field, "leave it away, or take a tower such as --net 64x6", "%s", strings.TrimPrefix(err.Error(), nn.ErrArch.Error()+": "))
		}
	}
	return nil
}

// deviceUse is a device of a configuration, and whether a process uses it.
type deviceUse struct {
	field, name string
	used        bool
}

// devicesOf returns the trainer's and the players'. The trainer's matters where the
// process trains, or plays on the same.
func devicesOf(c *config.Config, trains bool) []deviceUse {
	players := c.GetSelfplay().GetProducerDevice()
	return []deviceUse{
		{"training.device", c.GetTraining().GetDevice(), trains || players == "auto"},
		{"selfplay.producer_device", players, true},
	}
}

// PlayerDevice is where the nets of self-play and of matches are evaluated: auto is the
// trainer's.
func PlayerDevice(c *config.Config) Device {
	if name := c.GetSelfplay().GetProducerDevice(); name != "auto" {
		return deviceOf(name)
	}
	return TrainerDevice(c)
}

// supports says whether p computes in a precision.
func (p Device) supports(want device.Precision) bool {
	if want == device.FP32 {
		return true
	}
	if p.isCPU() {
		return want == device.BF16 && kernel.HasBF16()
	}
	return p.without(want) < 0
}

// without is the first of the GPUs that does not compute in a precision, -1 where each does.
func (p Device) without(want device.Precision) int {
	for _, n := range p {
		if i, err := Machine.info(n); err != nil || !cuda.Supports(i, want) {
			return n
		}
	}
	return -1
}

// lacks says what a device has not, for the sentence "bf16 was asked for, but ...".
func (p Device) lacks(want device.Precision) string {
	switch {
	case !p.isCPU():
		n := p.without(want)
		i, _ := Machine.info(n)
		return fmt.Sprintf("%s (%s, compute capability %d.%d) has no %s products", Device{n}, i.Name, i.Major, i.Minor, want)
	case want == device.FP16:
		return "no CPU kernels have fp16 products"
	}
	return fmt.Sprintf("the CPU kernels in use (%s) have no bf16 products", kernel.ActiveTier())
}

// Describe names a device for the log.
func (p Device) Describe() string {
	if p.isCPU() {
		return p.String()
	}
	var names []string
	for _, n := range p {
		i, err := Machine.info(n)
		if err != nil {
			return p.String()
		}
		names = append(names, i.Name)
	}
	return fmt.Sprintf("%s (%s)", p, strings.Join(slices.Compact(names), ", "))
}

// checkInput refuses to train a net that reads another input format than rows have.
func checkInput(e *config.Effective, a nn.Arch) error {
	if f := a.InputFormat(); f != encoding.FormatClassical {
		return e.Errorf("model.net", "begin with a net of input format 1; this one plays in matches and engines", "%s reads positions in input format %d, training has format 1 alone", a, f)
	}
	return nil
}

// CheckDevices refuses configured devices that are not there or do not suit the net, and
// says what to do.
func CheckDevices(e *config.Effective, trains bool) error {
	if err := CheckGPU(e, trains); err != nil {
		return err
	}
	if arch, err := firstArch(e.Config); trains && err == nil {
		if err := checkInput(e, arch); err != nil {
			return err
		}
	}
	for _, d := range devicesOf(e.Config, trains) {
		if !d.used {
			continue
		}
		p := deviceOf(d.name)
		switch {
		case d.name == "mps":
			return e.Errorf(d.field, "use cpu", "no Metal backend")
		case p.isCPU():
		case !CUDABuild:
			return e.Errorf(d.field, HowToBuild, "this build has no CUDA backend")
		case slices.Max(p) >= Machine.number():
			return e.Errorf(d.field, "take another number, or cpu", "this process sees %s", countText())
		}
	}
	if trains {
		return checkShares(e)
	}
	return nil
}

// checkShares refuses steps whose micro-batches GPUs cannot share evenly.
func checkShares(e *config.Effective) error {
	t, n := e.Config.GetTraining(), len(TrainerDevice(e.Config))
	batches := int(t.GetGradAccumSteps())
	if n < 2 || batches%n == 0 {
		return nil
	}
	even := (batches + n - 1) / n * n
	rows := (int(t.GetBatchSize())*batches + even - 1) / even
	return e.Errorf("training.grad_accum_steps", fmt.Sprintf("take --batch-size %d --grad-accum-steps %d", rows, even),
		"%d GPUs share the micro-batches of a step, and it has %d", n, batches)
}

// HowToBuild is what to do where a GPU is asked for and the program has no CUDA.
const HowToBuild = "use cpu, or build the GPU program with `make cuda` and keep chessbrain-cuda beside chessbrain"

// countText says how many GPUs there are, and why there may be more.
func countText() string {
	n, err := Machine.count()
	text := fmt.Sprintf("%d GPUs", n)
	switch {
	case err != nil:
		text = fmt.Sprintf("no GPU: %v", err)
	case n == 0:
		text = "no GPU"
	case n == 1:
		text = "one GPU, cuda:0"
	}
	if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		text += fmt.Sprintf(" (CUDA_VISIBLE_DEVICES=%s)", v)
	}
	return text
}

// OpenDriver opens the GPU of a name, cuda or cuda:N. The caller closes it.
func OpenDriver(name string) (driver.Device, error) {
	p := deviceOf(name)
	d, err := Machine.open(p[0])
	if err != nil {
		return nil, fmt.Errorf("open %s, where this process sees %s: %w", p, countText(), err)
	}
	return d, nil
}

// DescribeGPUs says for each GPU what it is, or why there is none; nothing where this
// build cannot use them.
func DescribeGPUs() (lines []string) {
	if n, err := Machine.count(); CUDABuild && (n == 0 || err != nil) {
		return []string{countText()}
	}
	for n := range Machine.number() {
		i, err := Machine.info(n)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: ! %v", Device{n}, err))
			continue
		}
		precisions := "bf16, fp16 and fp32"
		if !(Device{n}).supports(device.BF16) {
			precisions = "fp32 alone"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, compute capability %d.%d, %d multiprocessors, %.0f GiB, driver for CUDA %d.%d; %s",
			Device{n}, i.Name, i.Major, i.Minor, i.SMs, float64(i.TotalBytes)/(1<<30), i.DriverVersion/1000, i.DriverVersion%1000/10, precisions))
	}
	return lines
}

// openCUDA opens a GPU with its kernels.
func openCUDA(n int) (dev *cuda.Device, err error) {
	d, err := Machine.open(n)
	if err == nil {
		dev, err = cuda.Open(d)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", Device{n}, err)
	}
	return dev, nil
}

// trainerDevice opens the device that a configuration trains on; nil = the CPU.
func trainerDevice(c *config.Config) func(device.Config) (device.Trainer, error) {
	p := TrainerDevice(c)
	if p.isCPU() {
		return nil
	}
	return func(want device.Config) (device.Trainer, error) {
		t := &ownedTrainer{cfg: c}
		for _, n := range p {
			dev, err := openCUDA(n)
			if err != nil {
				return nil, errors.Join(err, t.closeDevices())
			}
			t.devices = append(t.devices, dev)
		}
		var err error
		if len(p) == 1 {
			t.Trainer, err = t.devices[0].NewTrainer(want)
		} else {
			t.Trainer, err = cuda.NewGroup(t.devices, want)
		}
		if err != nil {
			return nil, errors.Join(outOfMemory(err, c), t.closeDevices())
		}
		return t, nil
	}
}

// ownedTrainer is a trainer that has its devices to itself.
type ownedTrainer struct {
	device.Trainer
	devices []*cuda.Device
	cfg     *config.Config
}

// Stage, StageKept and Start name what to do where they need more memory than there is.
func (t *ownedTrainer) Stage(b *encoding.TrainBatch) error {
	return outOfMemory(t.Trainer.Stage(b), t.cfg)
}
func (t *ownedTrainer) StageKept(rows []device.KeptRow, weights []float32) error {
	return outOfMemory(t.Trainer.StageKept(rows, weights), t.cfg)
}
func (t *ownedTrainer) Start(p device.Pass) error { return outOfMemory(t.Trainer.Start(p), t.cfg) }

func (t *ownedTrainer) Close() error { return errors.Join(t.Trainer.Close(), t.closeDevices()) }

func (t *ownedTrainer) closeDevices() error {
	var errs []error
	for _, d := range t.devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// outOfMemory adds to such an error what to do.
func outOfMemory(err error, c *config.Config) error {
	if !errors.Is(err, driver.ErrOutOfMemory) {
		return err
	}
	t := c.GetTraining()
	if t.GetBatchSize() < 2 {
		return fmt.Errorf("%w; take a smaller net, or --device cpu", err)
	}
	half := t.GetBatchSize() / 2
	times := (t.GetBatchSize()*t.GetGradAccumSteps() + half - 1) / half
	return fmt.Errorf("%w; take half the batch and twice the accumulation: --batch-size %d --grad-accum-steps %d", err, half, times)
}
