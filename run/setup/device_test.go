package setup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	_ "github.com/chessbrain/chessbrain/internal/testing/signatures"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// withGPUs lets this machine have devices for the rest of the test.
func withGPUs(t *testing.T, infos ...driver.Info) {
	t.Helper()
	old := Machine
	t.Cleanup(func() { Machine = old })
	Machine = GpusOf(func() (int, error) { return len(infos), nil },
		func(n int) (driver.Info, error) { return infos[n], nil },
		func(n int) (driver.Device, error) {
			if n >= len(infos) {
				return nil, driver.ErrNoDevice
			}
			return infoDevice{infos[n]}, nil
		})
}

// infoDevice can say what it is, and no more.
type infoDevice struct{ info driver.Info }

func (d infoDevice) Info() driver.Info                          { return d.info }
func (d infoDevice) Load(string, []byte) (driver.Module, error) { return nil, errBroken }
func (d infoDevice) Alloc(int) (driver.Ptr, error)              { return 0, driver.ErrOutOfMemory }
func (d infoDevice) Free(driver.Ptr) error                      { return nil }
func (d infoDevice) AllocHost(int) (driver.Host, error)         { return nil, errBroken }
func (d infoDevice) NewStream() (driver.Stream, error)          { return nil, errBroken }
func (d infoDevice) NewEvent() (driver.Event, error)            { return nil, errBroken }
func (d infoDevice) MemInfo() (free, total uint64, err error)   { return 0, 0, nil }
func (d infoDevice) Close() error                               { return nil }

var errBroken = errors.New("broken")

// TestPlaces: auto is the first GPU where there is one, producers' auto is the
// trainer's, and each computes in what it has.
func TestPlaces(t *testing.T) {
	h200 := driver.Info{Name: "NVIDIA H200", Major: 9}
	old := driver.Info{Name: "GTX 1080 Ti", Major: 6, Minor: 1}
	for _, c := range []struct {
		gpus            []driver.Info
		flags           string
		trainer, player string // places
		in, by          device.Precision
		warns           string
	}{
		{flags: "--no-amp=true", trainer: "cpu", player: "cpu"},
		{gpus: []driver.Info{h200}, trainer: "cuda:0", player: "cpu", in: device.BF16, flags: "--precision=fp32"},
		{gpus: []driver.Info{h200}, trainer: "cuda:0", player: "cuda:0", in: device.BF16, by: device.BF16, flags: "--producer-device=auto"},
		{gpus: []driver.Info{h200, h200}, trainer: "cuda:0", player: "cuda:1", in: device.FP16, by: device.FP16, flags: "--devices=cuda:0,cuda:1 --amp=fp16"},
		{gpus: []driver.Info{h200}, trainer: "cuda:0", player: "cuda:0", in: device.BF16, by: device.FP16, flags: "--devices=cuda,auto --precision=fp16"},
		{gpus: []driver.Info{h200}, trainer: "cpu", player: "cpu", flags: "--devices=cpu,auto --no-amp=true"},
		{gpus: []driver.Info{h200}, trainer: "cpu", player: "cuda:0", by: device.FP16, flags: "--devices=cpu,cuda --amp=fp16", warns: "fp16 was asked for (training.amp from --amp), but no CPU kernels have fp16 products: computing in fp32"},
		{gpus: []driver.Info{old}, trainer: "cuda:0", player: "cuda:0", flags: "--devices=auto,auto"},
		{gpus: []driver.Info{h200}, trainer: "cuda:0", player: "cuda:0", flags: "--devices=auto,auto --no-amp=true --net=16x1x2h"},
		{gpus: []driver.Info{h200}, trainer: "cpu", player: "cpu", flags: "--devices=auto,auto --no-amp=true --net=sparse64"},
		{gpus: []driver.Info{h200}, trainer: "cpu", player: "cpu", flags: "--devices=auto,auto --no-amp=true --net=builtin"},
		{gpus: []driver.Info{h200, h200, h200}, trainer: "cuda:0+2", player: "cuda:0+1+2", in: device.BF16, by: device.BF16, flags: "--devices=cuda:0+2,cuda:all"},
		{gpus: []driver.Info{h200, old}, trainer: "cuda:0+1", player: "cuda:0+1", flags: "--devices=cuda:all,auto --amp=bf16", warns: "cuda:1 (GTX 1080 Ti, compute capability 6.1) has no bf16 products: computing in fp32"},
		{gpus: []driver.Info{old}, trainer: "cuda:0", player: "cuda:0", flags: "--devices=auto,auto --amp=bf16", warns: "cuda:0 (GTX 1080 Ti, compute capability 6.1) has no bf16 products: computing in fp32"},
	} {
		withGPUs(t, c.gpus...)
		e := runtest.Resolve(t, t.TempDir(), c.flags)
		if a, b := TrainerDevice(e.Config).String(), PlayerDevice(e.Config).String(); a != c.trainer || b != c.player {
			t.Errorf("%s: trainer %s, players %s, want %s, %s", c.flags, a, b, c.trainer, c.player)
		}
		if in, by := trainerPrecision(e.Config), playerPrecision(e.Config); in != c.in || by != c.by {
			t.Errorf("%s: trainer in %s, players in %s, want %s, %s", c.flags, in, by, c.in, c.by)
		}
		if w := LacksPrecision(e, true, true); (w == "") != (c.warns == "") || !strings.HasSuffix(w, c.warns) {
			t.Errorf("%s: warning %q, want %q", c.flags, w, c.warns)
		}
	}
}

// TestLeave: a process that goes on after a fault computes on the CPU, whatever is asked for.
func TestLeave(t *testing.T) {
	withGPUs(t, driver.Info{Name: "NVIDIA H200", Major: 9})
	for _, want := range []string{"cuda:0", "cpu"} {
		for _, devices := range []string{"auto,auto", "cuda:0,cuda", "cuda:all,cuda:0"} {
			c := runtest.Resolve(t, t.TempDir(), "--net=16x1 --devices="+devices).Config
			if trainer, player := TrainerDevice(c).String(), PlayerDevice(c).String(); trainer != want || player != want || Machine.Left() != (want == "cpu") {
				t.Errorf("--devices %s: training on %s, players on %s, want %s", devices, trainer, player, want)
			}
		}
		Machine.Leave()
	}
}

// TestDeviceOfNet: auto and a GPU that is asked for follow the net that a run begins with,
// of a file in the configuration or of the run.
func TestDeviceOfNet(t *testing.T) {
	withGPUs(t, driver.Info{Name: "NVIDIA H200", Major: 9})
	for name, refused := range map[string]string{
		"16x1": "", "16x1x2h": "", "sparse64": "sparse64 is a sparse net, for CPUs",
	} {
		arch := nntest.Named(name)
		net, dir := nn.Init(arch, 1), t.TempDir()
		file, kept := filepath.Join(dir, "n.safetensors"), filepath.Join(dir, "run", "initial.safetensors")
		for _, path := range []string{file, kept} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error { return nn.WriteSafetensors(w, net, nil) })); err != nil {
				t.Fatal(err)
			}
		}
		want := "cuda:0"
		if refused != "" {
			want = "cpu"
		}
		for _, c := range []struct{ dir, flags string }{{filepath.Join(dir, "run"), ""}, {filepath.Join(dir, "new"), " --net=" + file}} {
			e := runtest.Resolve(t, c.dir, "--devices=auto,auto"+c.flags)
			if a, b := TrainerDevice(e.Config).String(), PlayerDevice(e.Config).String(); a != want || b != want {
				t.Errorf("%s%s: trainer %s, players %s", name, c.flags, a, b)
			}
			if err := CheckDevices(e, true); err != nil {
				t.Errorf("%s%s: auto is refused: %v", name, c.flags, err)
			}
			if first, err := FirstNet(e, 1); err != nil || !first.Arch.Equal(arch) {
				t.Errorf("%s%s: the run begins with %v, %v", name, c.flags, first.Arch, err)
			}
			for _, flags := range []string{"--device=cuda", "--producer-device=cuda"} {
				err := CheckDevices(runtest.Resolve(t, c.dir, flags+c.flags), true)
				if ours := err != nil && strings.Contains(err.Error(), refused); (refused == "") != (err == nil || strings.Contains(err.Error(), "CUDA backend")) || refused != "" && !ours {
					t.Errorf("%s%s %s: %v, want %q", name, c.flags, flags, err, refused)
				}
			}
		}
	}
}

// TestOutOfMemory: the error says by what flags less memory is taken.
func TestOutOfMemory(t *testing.T) {
	full := fmt.Errorf("allocate: %w", driver.ErrOutOfMemory)
	for flags, want := range map[string]string{
		"--batch-size=1024":                     "--batch-size 512 --grad-accum-steps 2",
		"--batch-size=100 --grad-accum-steps=3": "--batch-size 50 --grad-accum-steps 6",
		"--batch-size=5 --grad-accum-steps=1":   "--batch-size 2 --grad-accum-steps 3",
		"--batch-size=1 --grad-accum-steps=1":   "take a smaller net, or --device cpu",
	} {
		err := outOfMemory(full, runtest.Resolve(t, t.TempDir(), flags).Config)
		if !errors.Is(err, driver.ErrOutOfMemory) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want ... %s", flags, err, want)
		}
	}
	if err := outOfMemory(errBroken, config.Defaults()); err != errBroken {
		t.Errorf("another error became %v", err)
	}
}

// TestSharesOfStep: several GPUs want a multiple of micro-batches, and the message says which.
func TestSharesOfStep(t *testing.T) {
	withGPUs(t, driver.Info{Name: "a", Major: 9}, driver.Info{Name: "b", Major: 9}, driver.Info{Name: "c", Major: 9})
	for flags, want := range map[string]string{
		"--device=cuda:0+1 --batch-size=512":                        "2 GPUs share the micro-batches of a step, and it has 1; take --batch-size 256 --grad-accum-steps 2",
		"--device=cuda:all --batch-size=100 --grad-accum-steps=4":   "3 GPUs share the micro-batches of a step, and it has 4; take --batch-size 67 --grad-accum-steps 6",
		"--device=cuda:0+2 --grad-accum-steps=4":                    "",
		"--device=cuda:1 --grad-accum-steps=3":                      "",
		"--device=cpu --producer-device=cuda:all --batch-size=1000": "",
	} {
		err := checkShares(runtest.Resolve(t, t.TempDir(), flags))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}

// TestDescribe: GPUs of a kind are named once.
func TestDescribe(t *testing.T) {
	withGPUs(t, driver.Info{Name: "a"}, driver.Info{Name: "a"}, driver.Info{Name: "b"})
	for name, want := range map[string]string{"cpu": "cpu", "cuda:1": "cuda:1 (a)", "cuda:0+1": "cuda:0+1 (a)", "cuda:all": "cuda:0+1+2 (a, b)"} {
		if got := deviceOf(name).Describe(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	withGPUs(t)
	if got := deviceOf("cuda:all").String(); got != "cuda:0" { // which is not there
		t.Errorf("all GPUs of a machine without any are %s", got)
	}
}

// onEmulator lets this machine have emulated GPUs for the rest of the test, and returns
// how often one was opened.
func onEmulator(t *testing.T, number int) (opened *int) {
	t.Helper()
	old, n := Machine, 0
	t.Cleanup(func() { Machine = old })
	Machine = GpusOf(func() (int, error) { return number, nil },
		func(int) (driver.Info, error) { return emulated.Open(t).Info(), nil },
		func(int) (driver.Device, error) { n++; return emulated.Open(t), nil })
	return &n
}

// startWDL is an evaluator's answer to the start position.
func startWDL(t *testing.T, e mcts.Evaluator) [3]float32 {
	t.Helper()
	var moves chess.MoveList
	line := chess.NewHistory(chess.StartBoard())
	line.Board().GenerateMoves(&moves)
	b := encoding.NewBatch(1)
	encoding.AppendPosition(b, line, &moves)
	if err := e.Evaluate(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b.WDL[0]
}

// TestGPUInference: all evaluators of an Inference are one and follow the newest net;
// a player that is late does not bring an older one back.
func TestGPUInference(t *testing.T) {
	onEmulator(t, 1)
	e := runtest.Resolve(t, t.TempDir(), "--producer-device=cuda --precision=fp16")
	inference, err := OpenInference(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	var packed []Packed
	var want [][3]float32
	for seed := range uint64(3) {
		net, err := InitialNet(e, seed)
		if err != nil {
			t.Fatal(err)
		}
		p, err := inference.Pack(net)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, p)
		alone, err := OpenNetPlayer(e.Config, net)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, startWDL(t, alone.NewEvaluator(1)))
		if err := alone.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a, errA := inference.NewEvaluator(packed[0], 8)
	b, errB := inference.NewEvaluator(packed[0], 8)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	check := func(what string, n int) {
		t.Helper()
		if got := [][3]float32{startWDL(t, a), startWDL(t, b)}; !slices.Equal(got, [][3]float32{want[n], want[n]}) {
			t.Errorf("%s: %v, want %v", what, got, want[n])
		}
	}
	check("first net", 0)
	if err := a.Swap(packed[2]); err != nil {
		t.Fatal(err)
	}
	check("newest net", 2)
	if err := b.Swap(packed[1]); err != nil {
		t.Fatal(err)
	}
	check("a late player", 2)
	if err := inference.Close(); err != nil {
		t.Error(err)
	}
}

// TestTrainerOnSeveral: a configuration's GPUs train together, and all are closed where one
// does not open.
func TestTrainerOnSeveral(t *testing.T) {
	opened := onEmulator(t, 2)
	e := runtest.Resolve(t, t.TempDir(), "--device=cuda:1+0 --grad-accum-steps=2")
	want := device.Config{Arch: nntest.TinyArch(), Capacity: 2, Optimizer: "sgd"}
	tr, err := trainerDevice(e.Config)(want)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Devices() != 2 || *opened != 2 {
		t.Errorf("%d devices train, %d were opened", tr.Devices(), *opened)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	open := Machine.open
	Machine.open = func(n int) (driver.Device, error) {
		if n == 0 {
			return nil, errBroken
		}
		return open(n) // the test fails where it stays open
	}
	if _, err := trainerDevice(e.Config)(want); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "open cuda:0") {
		t.Errorf("one does not open: %v", err)
	}
}

// TestSeveralGPUs: evaluators are of the GPUs in turn, also of one that had none when a net
// came, and each follows the newest net.
func TestSeveralGPUs(t *testing.T) {
	opened := onEmulator(t, 2)
	e := runtest.Resolve(t, t.TempDir(), "--producer-device=cuda:all --no-amp=true")
	inference, err := OpenInference(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	if *opened != 2 {
		t.Fatalf("%d GPUs were opened", *opened)
	}
	var packed []Packed
	var want [][3]float32
	var evaluators []Evaluator
	for seed := range uint64(3) {
		net, err := InitialNet(e, seed)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := inference.Pack(net); err != nil {
			t.Fatal(err)
		} else {
			packed = append(packed, p)
		}
		onCPU, err := cpu.New(net, kernel.FP32)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, startWDL(t, onCPU.NewEvaluator(1)))
		ev, err := inference.NewEvaluator(packed[0], 8) // of the first GPU, the second and the first
		if err != nil {
			t.Fatal(err)
		}
		evaluators = append(evaluators, ev)
	}
	for _, n := range []int{0, 2, 1} {
		for i, ev := range evaluators {
			if err := ev.Swap(packed[n]); err != nil {
				t.Fatal(err)
			}
			newest := []int{0, 2, 2}[n]
			got := startWDL(t, ev)
			near(t, fmt.Sprintf("evaluator %d after net %d", i, n), got[:], want[newest][:])
		}
	}
	several := inference.(*severalGPUs)
	if a, b := evaluators[0].(ofSeveral), evaluators[1].(ofSeveral); a.i != 0 || b.i != 1 || evaluators[2].(ofSeveral).i != 0 || len(several.each) != 2 {
		t.Errorf("evaluators are of GPUs %d, %d", a.i, b.i)
	}
	if err := inference.Close(); err != nil {
		t.Error(err)
	}
}
