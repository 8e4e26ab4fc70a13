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
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
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

// onEmulator lets this machine have one emulated GPU for the rest of the test, and
// returns how often it was opened.
func onEmulator(t *testing.T) (opened *int) {
	t.Helper()
	old, n := Machine, 0
	t.Cleanup(func() { Machine = old })
	Machine = GpusOf(func() (int, error) { return 1, nil },
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
	onEmulator(t)
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
