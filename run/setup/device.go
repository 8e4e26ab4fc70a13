package setup

import (
	"errors"
	"fmt"
	"os"
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

// Device is a device assignment: where something is computed, a GPU by its number among those that
// CUDA_VISIBLE_DEVICES shows, or the CPU.
type Device int

const onCPU Device = -1

func (p Device) String() string {
	if p == onCPU {
		return "cpu"
	}
	return "cuda:" + strconv.Itoa(int(p))
}

// gpus is what devices are resolved with: the driver's, but for tests.
type gpus struct {
	// count is how many there are; fault is why they could not be counted.
	count func() (n int, fault error)
	info  func(ordinal int) (driver.Info, error)
	open  func(ordinal int) (driver.Device, error)
}

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

// deviceOf reads a device's name, not auto.
func deviceOf(name string) Device {
	if number, ok := strings.CutPrefix(name, "cuda:"); ok {
		n, _ := strconv.Atoi(number) // of at most three digits
		return Device(n)
	}
	if name == "cuda" {
		return 0
	}
	return onCPU
}

// TrainerDevice is where a configuration trains: auto is a GPU for a net that it computes.
func TrainerDevice(c *config.Config) Device {
	name := c.GetTraining().GetDevice()
	if name == "auto" && Machine.number() > 0 && forCPUs(c) == nil {
		return 0
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
		if !d.used || !ours || deviceOf(d.name) == onCPU {
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
	if p == onCPU {
		return want == device.BF16 && kernel.HasBF16()
	}
	i, err := Machine.info(int(p))
	return err == nil && cuda.Supports(i, want)
}

// lacks says what a device has not, for the sentence "bf16 was asked for, but ...".
func (p Device) lacks(want device.Precision) string {
	switch {
	case p != onCPU:
		i, _ := Machine.info(int(p))
		return fmt.Sprintf("%s (%s, compute capability %d.%d) has no %s products", p, i.Name, i.Major, i.Minor, want)
	case want == device.FP16:
		return "no CPU kernels have fp16 products"
	}
	return fmt.Sprintf("the CPU kernels in use (%s) have no bf16 products", kernel.ActiveTier())
}

// Describe names a device for the log.
func (p Device) Describe() string {
	if p == onCPU {
		return p.String()
	}
	i, err := Machine.info(int(p))
	if err != nil {
		return p.String()
	}
	return fmt.Sprintf("%s (%s)", p, i.Name)
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
		case p == onCPU:
		case !CUDABuild:
			return e.Errorf(d.field, HowToBuild, "this build has no CUDA backend")
		case int(p) >= Machine.number():
			return e.Errorf(d.field, "take another number, or cpu", "this process sees %s", countText())
		}
	}
	return nil
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
	d, err := Machine.open(int(p))
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
			lines = append(lines, fmt.Sprintf("%s: ! %v", Device(n), err))
			continue
		}
		precisions := "bf16, fp16 and fp32"
		if !Device(n).supports(device.BF16) {
			precisions = "fp32 alone"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, compute capability %d.%d, %d multiprocessors, %.0f GiB, driver for CUDA %d.%d; %s",
			Device(n), i.Name, i.Major, i.Minor, i.SMs, float64(i.TotalBytes)/(1<<30), i.DriverVersion/1000, i.DriverVersion%1000/10, precisions))
	}
	return lines
}

// openCUDA opens a GPU with its kernels.
func openCUDA(p Device) (dev *cuda.Device, err error) {
	d, err := Machine.open(int(p))
	if err == nil {
		dev, err = cuda.Open(d)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p, err)
	}
	return dev, nil
}

// trainerDevice opens the device that a configuration trains on; nil = the CPU.
func trainerDevice(c *config.Config) func(device.Config) (device.Trainer, error) {
	p := TrainerDevice(c)
	if p == onCPU {
		return nil
	}
	return func(want device.Config) (device.Trainer, error) {
		dev, err := openCUDA(p)
		if err != nil {
			return nil, err
		}
		t, err := dev.NewTrainer(want)
		if err != nil {
			return nil, errors.Join(outOfMemory(err, c), dev.Close())
		}
		return &ownedTrainer{t, dev, c}, nil
	}
}

// ownedTrainer is a trainer that has its device to itself.
type ownedTrainer struct {
	*cuda.Trainer
	dev *cuda.Device
	cfg *config.Config
}

// Stage, StageKept and Start name what to do where they need more memory than there is.
func (t *ownedTrainer) Stage(b *encoding.TrainBatch) error {
	return outOfMemory(t.Trainer.Stage(b), t.cfg)
}
func (t *ownedTrainer) StageKept(rows []device.KeptRow, weights []float32) error {
	return outOfMemory(t.Trainer.StageKept(rows, weights), t.cfg)
}
func (t *ownedTrainer) Start(p device.Pass) error { return outOfMemory(t.Trainer.Start(p), t.cfg) }

func (t *ownedTrainer) Close() error { return errors.Join(t.Trainer.Close(), t.dev.Close()) }

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
