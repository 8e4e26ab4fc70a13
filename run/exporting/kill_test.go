package exporting

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
)

// childVar names the run that the test binary exports the nets of, in the place of
// tests.
const childVar = "CHESSBRAIN_EXPORTING_TEST_RUN"

func TestMain(m *testing.M) {
	if root, ok := os.LookupEnv(childVar); ok {
		os.Exit(childMain(root))
	}
	os.Exit(m.Run())
}

// childMain exports until nothing is left, with a line for each net that is out,
// after which it waits for a byte.
func childMain(root string) int {
	e, err := config.Resolve(config.Input{Overrides: []string{"run_dir=" + root, "export.exporter=onnx"}})
	if err == nil {
		_, err = Run(context.Background(), Options{Effective: e, Gating: true, Once: true, Command: "child", Log: slog.New(slog.DiscardHandler),
			Readers: []monitor.Sink{monitor.SinkFunc(func(monitor.Event) error {
				fmt.Println("out")
				_, err := os.Stdin.Read(make([]byte, 1))
				return err
			})}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKill kills an exporter again and again, each time when it has just done so
// many nets: in the end every net is there once, whole, and nothing else.
func TestKill(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	root := t.TempDir()
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		handOver(t, root, "toexport", name, uint64(i), int64(1000+i))
		want = append(want, name+".onnx", name+".safetensors")
	}
	kills := 0
	for !exportAndKill(t, root, 1+rng.IntN(3)) {
		kills++
	}
	if kills < 2 {
		t.Errorf("only %d kills", kills)
	}
	if got := list(t, root, "modelstobetested"); !slices.Equal(got, want) {
		t.Errorf("made %v", got)
	}
	if got := list(t, root, "toexport"); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	for i := range 12 {
		net, err := setup.ReadNet(filepath.Join(root, "modelstobetested", fmt.Sprintf("n%02d.safetensors", i)))
		if err != nil || net.ID() != testNet(uint64(i)).ID() {
			t.Errorf("net %d: %v", i, err)
		}
	}
}

// exportAndKill starts an exporter and kills it after so many nets. done: it ended
// before.
func exportAndKill(t *testing.T, root string, nets int) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+root)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	defer in.Close()
	for range nets {
		if !lines.Scan() {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("the exporter failed: %v", err)
			}
			return true
		}
		if _, err := in.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Log(err) // it has just ended
	}
	err = cmd.Wait()
	return err == nil
}
