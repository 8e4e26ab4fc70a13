package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// writeRun makes the metrics of a run of some episodes with ten steps each.
func writeRun(t *testing.T, episodes int64) string {
	t.Helper()
	dir := t.TempDir()
	files, _, err := monitor.OpenFiles(monitor.FilesOptions{Dir: dir}, monitor.FilesState{})
	if err != nil {
		t.Fatal(err)
	}
	bus := monitor.NewBus(monitor.BusOptions{Job: "job", Now: func() time.Time { return time.Unix(1700000000, 0) }})
	bus.Attach(files)
	bus.Publish(&monitor.Run{Phase: monitor.RunStart, Arch: "32x4-se", Seed: 7, Device: "cpu", ProducerDevice: "cpu",
		Kernels: "avx2", Precision: "bf16", ProducerPrecision: "fp32"})
	step := int64(0)
	validate := func() {
		bus.Publish(&monitor.Validation{Step: step, Weights: "raw", Losses: monitor.Numbers{"policy_loss": monitor.Number(3 / (1 + float64(step)/100)), "l2_loss": 500},
			StdErrs: monitor.Numbers{"policy_loss": 0.03}, LegalEntropy: 3.1})
	}
	validate()
	for e := int64(1); e <= episodes; e++ {
		bus.Publish(&monitor.Episode{Episode: e, Plies: 80, MeanPlies: 80, Results: monitor.Results{White: e - e/2, Draw: e / 2}, Ends: map[string]int64{"checkmate": e - e/2, "repetition": e / 2}})
		for range 10 {
			step++
			loss := monitor.Number(3 / (1 + float64(step)/100))
			if step == 5 {
				loss = monitor.Number(math.NaN())
			}
			bus.Publish(&monitor.Step{Step: step, Episode: e, Losses: monitor.Numbers{"policy_loss": loss, "value_loss": 1}, LR: 0.02, Rates: monitor.Rates{RowsPerSecond: 100}})
		}
	}
	validate()
	bus.Publish(&monitor.Alarm{Code: "x", Message: "look at this"})
	if err := errors.Join(bus.Err(), files.Close()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, monitor.MetricsName)
}

func TestReport(t *testing.T) {
	d, err := Read(writeRun(t, 6))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Curves["train/policy_loss"]); n != 59 || d.Step != 60 || d.Episodes != 6 || d.Job != "job" {
		t.Errorf("%d points (one of 60 is NaN), step %d, episode %d", n, d.Step, d.Episodes)
	}
	dir := filepath.Join(t.TempDir(), "report")
	paths, err := Write(d, dir, "\n## Ladder\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"losses", "policy", "lr", "draws", "length", "ends", "selfplay", "training", "accuracy", "gradient"} {
		svg := filepath.Join(dir, name+".svg")
		if !slices.Contains(paths, svg) {
			t.Errorf("%s is missing in %v", name, paths)
			continue
		}
		checkSVG(t, svg)
	}
	text := filetest.Read(t, filepath.Join(dir, "report.md"))
	for _, want := range []string{"# Run job", "6 episodes, 60 steps", "Net 32x4-se, seed 7, device cpu (avx2, bf16), self-play on cpu (fp32); from", "drawn 3 (50 %)", "* repetition: 3",
		"| policy_loss | 3.0000 | 1.8750 | -1.1250 | -26.5 |", "nothing but the rules is 3.1000", "look at this", "too short to judge", "![losses](losses.svg)", "\n## Ladder\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if d.Episodes = 0; !strings.Contains(Summary(d), "\n60 steps, ") {
		t.Errorf("a run on a data set has no episodes:\n%s", Summary(d))
	}
	if strings.Contains(string(text), "l2_loss") {
		t.Errorf("a loss of the weights is among those of held-out games:\n%s", text)
	}
}

// TestCompare: the losses of two trainings are in one picture, over their own samples, by name;
// the text of one says whose it is.
func TestCompare(t *testing.T) {
	var all []*Data
	for i, name := range []string{"main", "wide"} {
		d, err := Read(writeRun(t, 6))
		if err != nil {
			t.Fatal(err)
		}
		d.Training, d.Samples = name, 600*int64(i+1)
		all = append(all, d)
	}
	all[0].Compare(all)
	dir := filepath.Join(t.TempDir(), "report")
	if _, err := Write(all[0], dir, ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "trainings.svg")
	checkSVG(t, path)
	data := filetest.Read(t, path)
	for _, want := range []string{">main</text>", ">wide</text>", ">1.2k</text>"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
	if head, _, _ := strings.Cut(Summary(all[1]), "\n"); head != "# Run job, training wide" {
		t.Error(head)
	}
}

func checkSVG(t *testing.T, path string) {
	t.Helper()
	data := filetest.Read(t, path)
	lines := 0
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			lines++
		}
	}
	if lines < 3 {
		t.Errorf("%s holds %d paths", path, lines)
	}
}

func TestSummaryWithoutValidation(t *testing.T) {
	d, err := Read(writeRun(t, 6))
	if err != nil {
		t.Fatal(err)
	}
	d.FirstVal = nil
	if s := Summary(d); !strings.Contains(s, "| in training |") || !strings.Contains(s, "| value_loss | 1.0000 | 1.0000 | +0.0000 |") {
		t.Error(s)
	}
	d.Episodes = enoughEpisodes
	if strings.Contains(Summary(d), "too short") {
		t.Error("a long run is called short")
	}
}

func TestReadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	for text, want := range map[string]string{"": "no episode and no step", "x\n{}\n": path + ":1: decode event: invalid character 'x' looking for beginning of value; cut the line out to read the rest, or move the file away: a run goes on without it"} {
		filetest.Write(t, path, text)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Read(path + "x"); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
}

func TestThin(t *testing.T) {
	var points []Point
	for i := range 1001 {
		points = append(points, Point{float64(i), 2 * float64(i)})
	}
	out := thin(points, 100)
	var weight float64
	for i, p := range out {
		if math.Abs(p.Y-2*p.X) > 1e-9 || i > 0 && p.X <= out[i-1].X { // means of a line lie on it, up to rounding
			t.Fatalf("point %d: %v", i, p)
		}
		weight += p.X
	}
	if len(out) != 100 || math.Abs(weight/100-500) > 1 { // groups of 10 or 11
		t.Errorf("%d points, mean %v", len(out), weight/100)
	}
	if len(thin(points[:7], 100)) != 7 {
		t.Error("a short curve was thinned")
	}
}

// TestMeasuredLosses: measurements of the configuration stand in the picture of the losses.
func TestMeasuredLosses(t *testing.T) {
	d := &Data{Curves: map[string][]Point{}}
	for _, tag := range []string{"train/policy_loss", "val_masters/policy_loss", "val_untrained/policy_loss", "val_masters/policy_accuracy"} {
		d.Curves[tag] = []Point{{1, 2}}
	}
	if tags := figures(d)[1].tags; !slices.Equal(tags, []string{"train/policy_loss", "val/policy_loss", "val_masters/policy_loss"}) {
		t.Error(tags)
	}
}
