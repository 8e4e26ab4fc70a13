package setup

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// randomBatch returns the positions of a game of random moves.
func randomBatch(rng *rand.Rand, n int) *encoding.Batch {
	b, line := encoding.NewBatch(n), chess.NewHistory(chess.StartBoard())
	var legal chess.MoveList
	for b.N < n {
		if line.Board().GenerateMoves(&legal); legal.N == 0 {
			line = chess.NewHistory(chess.StartBoard())
			continue
		}
		encoding.AppendPosition(b, line, &legal)
		line.Push(legal.Moves[rng.IntN(legal.N)])
	}
	return b
}

// TestNetPlayerOnGPU: callers beside each other, with batches of one and of many, get
// the CPU's answers from one net on a device, which is opened once.
func TestNetPlayerOnGPU(t *testing.T) {
	opened := onEmulator(t, 1)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const callers = 4
	var players [2]*NetPlayer
	for i, device := range []string{"cpu", "cuda"} {
		e := runtest.Resolve(t, t.TempDir(), "--precision=fp32 --producer-device="+device)
		net, err := InitialNet(e, seed)
		if err != nil {
			t.Fatal(err)
		}
		if players[i], err = OpenNetPlayer(e.Config, net); err != nil {
			t.Fatal(err)
		}
		if err := players[i].Warm(t.Context(), 3); err != nil {
			t.Errorf("%s: %v", device, err)
		}
	}
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			n := 1 + 4*(caller%2)
			var got [2]*encoding.Batch
			for i, p := range players {
				got[i] = randomBatch(rand.New(rand.NewPCG(seed, uint64(caller))), n)
				e, err := p.Evaluator(n)
				if err == nil {
					err = e.Evaluate(t.Context(), got[i])
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			for k := range n {
				near(t, "WDL", got[1].WDL[k][:], got[0].WDL[k][:])
				near(t, "priors", got[1].PriorOf(k), got[0].PriorOf(k))
			}
		})
	}
	group.Wait()
	for _, p := range players {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if *opened != 1 {
		t.Errorf("the device was opened %d times", *opened)
	}
}

// near compares probabilities; float32 sums in another order differ by less.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-4) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// TestNetPlayerAuto: where nothing is said, a net that no GPU computes plays on the CPU
// beside one that does, whatever net the configuration has.
func TestNetPlayerAuto(t *testing.T) {
	opened := onEmulator(t, 1)
	for name, want := range map[string]int{"16x1x2h": 1, "sparse64": 0, "16x1": 1} {
		arch := nntest.Named(name)
		*opened = 0
		p, err := OpenNetPlayer(runtest.Resolve(t, t.TempDir(), "--devices=auto,auto").Config, nn.Init(arch, 1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Close(); err != nil || *opened != want {
			t.Errorf("%s: %d GPUs opened, %v", name, *opened, err)
		}
	}
	arch := nntest.Named("sparse64")
	if _, err := OpenNetPlayer(runtest.Resolve(t, t.TempDir(), "--producer-device=cuda").Config, nn.Init(arch, 1)); !errors.Is(err, nn.ErrArch) || !strings.Contains(err.Error(), "for CPUs") {
		t.Errorf("a GPU that was asked for: %v", err)
	}
}

// TestNetPlayerMemory: what a GPU has too little memory for says what to do instead,
// and leaves nothing on the device.
func TestNetPlayerMemory(t *testing.T) {
	old := Machine
	t.Cleanup(func() { Machine = old })
	for what, bytes := range map[string]uint64{"the net": 1 << 10, "the evaluator": 4 << 20} {
		small := func() driver.Device { return emulated.OpenWith(t, emulated.Options{Bytes: bytes}) }
		Machine = GpusOf(func() (int, error) { return 1, nil },
			func(int) (driver.Info, error) { return small().Info(), nil },
			func(int) (driver.Device, error) { return small(), nil })
		e := runtest.Resolve(t, t.TempDir(), "--producer-device=cuda")
		net, err := InitialNet(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := OpenNetPlayer(e.Config, net)
		if err == nil {
			_, err = p.Evaluator(1)
			if warm := p.Warm(t.Context(), 1); !errors.Is(warm, driver.ErrOutOfMemory) {
				t.Errorf("%s: warming: %v", what, warm)
			}
			if closeErr := p.Close(); closeErr != nil {
				t.Errorf("%s: close: %v", what, closeErr)
			}
		}
		if !errors.Is(err, driver.ErrOutOfMemory) || !strings.HasSuffix(err.Error(), "evaluate nets on the CPU (--producer-device cpu, or --device cpu)") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
