package setup

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay/loader"
)

// resolve returns the configuration of a file with the given text.
func resolve(t *testing.T, text string) *config.Effective {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.textproto")
	filetest.Write(t, path, text)
	e, err := config.Resolve(config.Input{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// builtIns makes the built-in rescorers.
func builtIns(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(host.Options{Builtin: rescore.Definitions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// example returns the graph of the examples in configs/example.textproto.
func example(t *testing.T) string {
	t.Helper()
	text := filetest.Read(t, "../../configs/example.textproto")
	_, rest, ok := strings.Cut(string(text), "\ndata_loader {\n")
	body, _, end := strings.Cut(rest, "\n}\n")
	if !ok || !end {
		t.Fatal("no data_loader in the example")
	}
	return "data_loader {\n" + strings.ReplaceAll(body, "#: ", "") + "\n}\n"
}

// The example of the documentation is a graph that can be built once its made-up
// rescorer settings are gone, and uses every kind.
func TestExampleGraph(t *testing.T) {
	text := strings.ReplaceAll(example(t), `settings { key: "x" value: "y" }`, "")
	e := resolve(t, text)
	l, err := New(t.Context(), e, builtIns(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var kinds []string
	for _, n := range l.Drawing().Nodes {
		if n.Kind != "" {
			kinds = append(kinds, n.Kind)
		}
	}
	slices.Sort(kinds)
	if got := slices.Compact(kinds); !slices.Equal(got, loader.Kinds()) {
		t.Errorf("%v", got)
	}
}

// Every setting arrives, the defaults are those of the schema.
func TestGraph(t *testing.T) {
	e := resolve(t, `data_loader {
  stage { name: "f" queue { capacity: 9 overflow: KEEP_NEWEST } file_path_provider { directory: "d" watch: false poll_seconds: 2 } }
  stage { name: "r" input: "f" chunk_source_reader { threads: 3 rescorer { name: "identity" } } }
  stage { name: "s" input: "r" chunk_source_splitter { output { name: "a" weight: 3 } output { name: "b" } } }
  stage { name: "p" input: "s.a" shuffling_chunk_pool { chunk_pool_size: 5 threads: 2 epochs: 1 hanse_sampling: true
    hanse_sampling_threshold: 6 hanse_sampling_gamma: 0.5 store_mib: 7
    position_weight { enabled: true q_weight: 1 pol_scale: 2 alpha: 3 beta: 4 gamma: 5 tau: 6 } } }
  stage { name: "x" input: "s.b" simple_chunk_extractor { epochs: 2 } }
  stage { name: "c" input: "x" chunk_rescorer { threads: 4 rescorer { name: "identity" } } }
  stage { name: "g" input: "c" plugin { name: "deblunder" settings { key: "threshold" value: "0.2" } threads: 8 batch: 12 } }
  stage { name: "u" input: "g" chunk_unpacker { threads: 5 position_sampling_rate: 0.25 position_count: 3 prefetch: 8 } }
  stage { name: "v" input: "p" chunk_unpacker {} }
  stage { name: "m" input: "v" shuffling_frame_sampler { threads: 6 reservoir_size_per_thread: 10 } }
  stage { name: "j" input: "m" input: "u" join_positions {} }
  stage { name: "t" input: "j" tensor_generator { threads: 7 batch_size: 11 } }
  output: "t"
}`)
	c, err := Graph(t.Context(), e, builtIns(t))
	if err != nil {
		t.Fatal(err)
	}
	var weight, other loader.PositionWeight
	weight.QWeight, weight.PolicyScale, weight.Alpha, weight.Beta, weight.Gamma, weight.Tau = 6, 3.5, 1, 0.5, 1, 1
	other.Enabled = true
	other.QWeight, other.PolicyScale, other.Alpha, other.Beta, other.Gamma, other.Tau = 1, 2, 3, 4, 5, 6
	want := []loader.StageConfig{
		{Name: "f", Output: loader.QueueConfig{Capacity: 9, Overflow: loader.KeepNewest}, FilePathProvider: &loader.FilePathProvider{Directory: "d", PollSeconds: 2}},
		{Name: "r", Inputs: []string{"f"}, ChunkSourceReader: &loader.ChunkSourceReader{Threads: 3}},
		{Name: "s", Inputs: []string{"r"}, ChunkSourceSplitter: &loader.ChunkSourceSplitter{Outputs: []loader.SplitOutput{{Name: "a", Weight: 3}, {Name: "b", Weight: 1}}}},
		{Name: "p", Inputs: []string{"s.a"}, ShufflingChunkPool: &loader.ShufflingChunkPool{ChunkPoolSize: 5, Threads: 2, Epochs: 1, HanseSampling: true,
			HanseSamplingThreshold: 6, HanseSamplingGamma: 0.5, StoreMiB: 7,
			PositionWeight: other}},
		{Name: "x", Inputs: []string{"s.b"}, SimpleChunkExtractor: &loader.SimpleChunkExtractor{Epochs: 2}},
		{Name: "c", Inputs: []string{"x"}, ChunkRescorer: &loader.ChunkRescorer{Threads: 4}},
		{Name: "g", Inputs: []string{"c"}, Plugin: &loader.Plugin{Threads: 8, Batch: 12}},
		{Name: "u", Inputs: []string{"g"}, ChunkUnpacker: &loader.ChunkUnpacker{Threads: 5, PositionSamplingRate: 0.25, PositionCount: 3, Prefetch: 8, PositionWeight: weight}},
		{Name: "v", Inputs: []string{"p"}, ChunkUnpacker: &loader.ChunkUnpacker{Threads: 1, PositionSamplingRate: 1, PositionWeight: weight}},
		{Name: "m", Inputs: []string{"v"}, ShufflingFrameSampler: &loader.ShufflingFrameSampler{Threads: 6, ReservoirSizePerThread: 10}},
		{Name: "j", Inputs: []string{"m", "u"}, JoinPositions: &loader.JoinPositions{}},
		{Name: "t", Inputs: []string{"j"}, TensorGenerator: &loader.TensorGenerator{Threads: 7, BatchSize: 11}},
	}
	if r, s := c.Stages[1].ChunkSourceReader.Rescorers, c.Stages[5].ChunkRescorer.Rescorers; len(r) != 1 || r[0].Name() != "identity" || len(s) != 1 {
		t.Errorf("rescorers %v %v", r, s)
	}
	if d, ok := c.Stages[6].Plugin.Rescorer.(rescore.Deblunder); !ok || d.Threshold != 0.2 {
		t.Errorf("rescorer of the plugin stage: %+v", c.Stages[6].Plugin.Rescorer)
	}
	c.Stages[1].ChunkSourceReader.Rescorers, c.Stages[5].ChunkRescorer.Rescorers, c.Stages[6].Plugin.Rescorer = nil, nil, nil
	for i := range want {
		if want[i].Output.Capacity == 0 {
			want[i].Output = loader.QueueConfig{Capacity: 4}
		}
		if !reflect.DeepEqual(c.Stages[i], want[i]) {
			t.Errorf("stage %s:\n%+v, want\n%+v", want[i].Name, c.Stages[i], want[i])
		}
	}
	if !slices.Equal(c.Outputs, []string{"t"}) {
		t.Errorf("outputs %v", c.Outputs)
	}
}

// Faults name the stage and where it stands in the file, all at once, and mean
// exit code 2.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing": {"name: 'x'", []string{"no stages"}},
		"two faults": {"data_loader {\n stage { name: 'a' }\n stage { name: 'b' input: 'c' tensor_generator {} }\n output: 'b'\n}",
			[]string{`run.textproto:2:2: data_loader.stage[0]: stage "a": no stage kind`}},
		"input": {"data_loader {\n stage { name: 'b' input: 'c' tensor_generator {} }\n output: 'b'\n}",
			[]string{`run.textproto:2:2: data_loader.stage[0]: stage "b": missing input: there is no stage "c"; known: b`}},
		"rescorer": {"data_loader {\n stage { name: 'b' input: 'c' chunk_rescorer { rescorer { name: 'nothing' } } }\n}",
			[]string{`run.textproto:2:2: data_loader.stage[0]`, `stage "b": `, "nothing", "deblunder", "chessbrain plugins list"}},
		"plugin": {"data_loader {\n stage { name: 'b' input: 'c' plugin { name: 'deblunder' settings { key: 'x' value: '1' } } }\n}",
			[]string{`run.textproto:2:2: data_loader.stage[0]`, `stage "b": `, `unknown setting "x"`}},
		"plugin without a name": {"data_loader {\n stage { name: 'b' input: 'c' plugin {} }\n}", []string{`run.textproto:2:2: data_loader.stage[0]: stage "b": `}},
	} {
		_, err := New(t.Context(), resolve(t, c.text), builtIns(t))
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != 2 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", name, err, want)
			}
		}
	}
}

// The graphs in docs/LOADER.md can be built as they stand there.
func TestDocumentedGraphs(t *testing.T) {
	text := filetest.Read(t, "../../docs/LOADER.md")
	built := 0
	for i, block := range strings.Split(string(text), "\n```\n") {
		if i%2 == 0 || !strings.Contains(block, "stage { name") {
			continue
		}
		if !strings.HasPrefix(block, "data_loader") {
			block = "data_loader {\n" + block + "\n output: 'train' }"
		}
		l, err := New(t.Context(), resolve(t, block), builtIns(t))
		if err != nil {
			t.Errorf("%v in:\n%s", err, block)
			continue
		}
		l.Close()
		built++
	}
	if built != 2 {
		t.Errorf("%d graphs, want 2", built)
	}
}

// gone is a program that was given up.
type gone struct{ err error }

func (gone) Name() string                                                  { return "gone" }
func (g gone) Rescore(context.Context, *record.Game) (*record.Game, error) { return nil, g.err }
func (g gone) RescoreBatch(context.Context, []*record.Game) ([]*record.Game, error) {
	return nil, g.err
}
func (g gone) Rescorer(context.Context, stage.Choice) (stage.Rescorer, error) { return g, nil }

// TestEnding: a program that was given up ends the loader; what it says of one
// game does not.
func TestEnding(t *testing.T) {
	for _, c := range []struct {
		err  error
		ends bool
	}{
		{&host.Error{Kind: stage.KindRescorer, Name: "gone", Did: "died", Err: host.ErrGivenUp}, true},
		{host.ErrClosed, true},
		{errors.New("not this game"), false},
	} {
		made, err := rescorersOf(t.Context(), []*config.Stage{{}}, gone{c.err})
		if err != nil {
			t.Fatal(err)
		}
		_, one := made[0].Rescore(t.Context(), nil)
		_, many := made[0].(stage.BatchRescorer).RescoreBatch(t.Context(), nil)
		for _, err := range []error{one, many} {
			if errors.Is(err, loader.ErrStop) != c.ends || !errors.Is(err, c.err) {
				t.Errorf("%v became %v", c.err, err)
			}
		}
	}
	h := &host.Error{Kind: stage.KindRescorer, Name: "gone", Did: "did not start"}
	_, err := Graph(t.Context(), resolve(t, "data_loader { stage { name: 'b' plugin { name: 'gone' } } }"), refusing{h})
	if !errors.Is(err, error(h)) || !strings.Contains(err.Error(), `stage "b"`) {
		t.Errorf("a program that does not start: %v", err)
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		t.Errorf("a program that does not start is no fault of the configuration: %v", err)
	}
}

// refusing has no rescorer.
type refusing struct{ err error }

func (r refusing) Rescorer(context.Context, stage.Choice) (stage.Rescorer, error) { return nil, r.err }
