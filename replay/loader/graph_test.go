package loader

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// stageOf returns a stage's config with a queue; set chooses its kind.
func stageOf(name, input string, set func(*StageConfig)) StageConfig {
	c := StageConfig{Name: name, Output: QueueConfig{Capacity: 4}}
	if input != "" {
		c.Inputs = strings.Split(input, " ")
	}
	set(&c)
	return c
}

func provider(name, dir string) StageConfig {
	return stageOf(name, "", func(c *StageConfig) { c.FilePathProvider = &FilePathProvider{Directory: dir, PollSeconds: 1} })
}

func reader(name, input string) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.ChunkSourceReader = &ChunkSourceReader{Threads: 2} })
}

func splitter(name, input string, outputs ...string) StageConfig {
	return stageOf(name, input, func(c *StageConfig) {
		c.ChunkSourceSplitter = &ChunkSourceSplitter{}
		for _, o := range outputs {
			c.ChunkSourceSplitter.Outputs = append(c.ChunkSourceSplitter.Outputs, SplitOutput{o, 1})
		}
	})
}

func extractor(name, input string, epochs int) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.SimpleChunkExtractor = &SimpleChunkExtractor{Epochs: epochs} })
}

func rescorer(name, input string, threads int, r ...stage.Rescorer) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.ChunkRescorer = &ChunkRescorer{Threads: threads, Rescorers: r} })
}

func unpackStage(name, input string) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.ChunkUnpacker = &ChunkUnpacker{Threads: 1, PositionSamplingRate: 1} })
}

func joiner(name, input string) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.JoinPositions = &JoinPositions{} })
}

func tensors(name, input string, size int) StageConfig {
	return stageOf(name, input, func(c *StageConfig) { c.TensorGenerator = &TensorGenerator{Threads: 1, BatchSize: size} })
}

// wholeGraph is a graph of two branches that uses most kinds.
func wholeGraph(dir string) Config {
	return Config{Outputs: []string{"train", "validation"}, Stages: []StageConfig{
		provider("files", dir), reader("reader", "files"), splitter("split", "reader", "a", "b"),
		extractor("all_a", "split.a", 1), rescorer("rescored", "all_a", 1, rescore.Identity{}), unpackStage("unpack_a", "rescored"), tensors("train", "unpack_a", 8),
		extractor("all_b", "split.b", 1), unpackStage("unpack_b", "all_b"), joiner("join", "unpack_b"), tensors("validation", "join", 8),
	}}
}

func TestKinds(t *testing.T) {
	want := []string{"chunk_rescorer", "chunk_source_reader", "chunk_source_splitter", "chunk_unpacker", "file_path_provider",
		"join_positions", "plugin", "shuffling_chunk_pool", "shuffling_frame_sampler", "simple_chunk_extractor", "tensor_generator"}
	if got := Kinds(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	// Each kind is chosen by a field of its own, so a new field cannot be forgotten.
	kindsOfStruct := 0
	for f := range reflect.TypeFor[StageConfig]().Fields() {
		if f.Type.Kind() == reflect.Pointer {
			kindsOfStruct++
		}
	}
	if kindsOfStruct != len(want) {
		t.Errorf("StageConfig has %d kinds, %d are registered", kindsOfStruct, len(want))
	}
}

func TestGraphErrors(t *testing.T) {
	change := func(name string, fn func(*StageConfig)) func(*Config) {
		return func(c *Config) {
			i := slices.IndexFunc(c.Stages, func(s StageConfig) bool { return s.Name == name })
			fn(&c.Stages[i])
		}
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string // of these errors, each in one of the parts
	}{
		"no stages": {func(c *Config) { c.Stages = nil }, []string{"no stages"}},
		"duplicate name": {change("rescored", func(s *StageConfig) { s.Name = "all_a" }),
			[]string{`stage "all_a": duplicate name: stage number 4 has it too`}},
		"no name":  {change("rescored", func(s *StageConfig) { s.Name = "" }), []string{`stage number 5: bad name ""`}},
		"bad name": {change("rescored", func(s *StageConfig) { s.Name = "A b" }), []string{`bad name "A b"`}},
		"no kind": {change("rescored", func(s *StageConfig) { s.ChunkRescorer = nil }),
			[]string{`stage "rescored": no stage kind; add one of chunk_rescorer, chunk_source_reader`}},
		"two kinds": {change("rescored", func(s *StageConfig) { s.JoinPositions = &JoinPositions{} }),
			[]string{`stage "rescored": several stage kinds: chunk_rescorer, join_positions`}},
		"no input": {change("rescored", func(s *StageConfig) { s.Inputs = nil }),
			[]string{`stage "rescored": missing input: a chunk_rescorer reads chunks`, `stage "all_a": nobody reads "all_a"`}},
		"unknown input": {change("rescored", func(s *StageConfig) { s.Inputs = []string{"al_a"} }),
			[]string{`stage "rescored": missing input: there is no stage "al_a"; known: all_a, all_b, files,`}},
		"input of a provider": {change("files", func(s *StageConfig) { s.Inputs = []string{"reader"} }), []string{`stage "files": a file_path_provider has no input`}},
		"splitter without its port": {change("all_a", func(s *StageConfig) { s.Inputs = []string{"split"} }),
			[]string{`stage "all_a": missing input: "split" names no output of stage "split"; known: split.a, split.b`}},
		"type mismatch": {change("rescored", func(s *StageConfig) { s.Inputs = []string{"split.a"} }),
			[]string{`stage "rescored": type mismatch: input "split.a" gives sources, a chunk_rescorer reads chunks`}},
		"two readers": {change("unpack_b", func(s *StageConfig) { s.Inputs = []string{"rescored"} }),
			[]string{`reads "rescored", which stage "unpack_a" reads too; an output has one reader`}},
		"many inputs": {change("train", func(s *StageConfig) { s.Inputs = []string{"unpack_a", "join"} }),
			[]string{`stage "train": 2 inputs, a tensor_generator has one; frames of several stages are merged by join_positions`}},
		"unread": {func(c *Config) { c.Outputs = c.Outputs[:1] }, []string{`stage "validation": nobody reads "validation"`}},
		"unknown output": {func(c *Config) { c.Outputs[0] = "trian" },
			[]string{`data_loader: unknown output: there is no stage "trian"; known: `}},
		"output of another type": {func(c *Config) { c.Outputs[0] = "unpack_a" }, []string{`output "unpack_a" gives frames, wanted are batches`}},
		"no output":              {func(c *Config) { c.Outputs = nil }, []string{"no output; add output"}},
		"circle": {change("join", func(s *StageConfig) { s.Inputs = []string{"join", "unpack_b"} }),
			[]string{`reads "join", which stage "join" reads too`}},
		"queue":          {change("join", func(s *StageConfig) { s.Output.Capacity = 0 }), []string{`stage "join": queue capacity 0`}},
		"one output":     {change("split", func(s *StageConfig) { s.ChunkSourceSplitter.Outputs = s.ChunkSourceSplitter.Outputs[:1] }), []string{`stage "split": 1 outputs; a splitter has at least two`}},
		"output twice":   {change("split", func(s *StageConfig) { s.ChunkSourceSplitter.Outputs[1].Name = "a" }), []string{`stage "split": two outputs are called "a"`}},
		"weights":        {change("split", func(s *StageConfig) { s.ChunkSourceSplitter.Outputs[1].Weight = -1 }), []string{`stage "split": weights [1 -1]`}},
		"no directory":   {change("files", func(s *StageConfig) { s.FilePathProvider.Directory = "" }), []string{`stage "files": no directory`}},
		"poll":           {change("files", func(s *StageConfig) { *s.FilePathProvider = FilePathProvider{Directory: "x", Watch: true} }), []string{`stage "files": poll_seconds: 0`}},
		"threads":        {change("reader", func(s *StageConfig) { s.ChunkSourceReader.Threads = 0 }), []string{`stage "reader": threads: 0`}},
		"no rescorer":    {change("rescored", func(s *StageConfig) { s.ChunkRescorer.Rescorers = nil }), []string{`stage "rescored": no rescorer`}},
		"plugin threads": {change("rescored", func(s *StageConfig) { s.ChunkRescorer, s.Plugin = nil, &Plugin{Batch: 1, Rescorer: rescore.Identity{}} }), []string{`stage "rescored": threads: 0`}},
		"plugin batch": {change("rescored", func(s *StageConfig) {
			s.ChunkRescorer, s.Plugin = nil, &Plugin{Threads: 1, Rescorer: rescore.Identity{}}
		}), []string{`stage "rescored": batch: 0`}},
		"plugin name":    {change("rescored", func(s *StageConfig) { s.ChunkRescorer, s.Plugin = nil, &Plugin{Threads: 1, Batch: 1} }), []string{`stage "rescored": no name of a rescorer`}},
		"epochs":         {change("all_b", func(s *StageConfig) { s.SimpleChunkExtractor.Epochs = -1 }), []string{`stage "all_b": epochs: -1`}},
		"batch size":     {change("train", func(s *StageConfig) { s.TensorGenerator.BatchSize = 0 }), []string{`stage "train": batch_size: 0`}},
		"several faults": {func(c *Config) { c.Stages[1].ChunkSourceReader.Threads, c.Stages[6].TensorGenerator.BatchSize = 0, 0 }, []string{`stage "reader": threads`, `stage "train": batch_size`}},
	} {
		t.Run(name, func(t *testing.T) {
			config := wholeGraph("x")
			c.change(&config)
			_, err := New(config, Options{})
			if _, ok := errors.AsType[*ConfigError](err); !ok {
				t.Fatalf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
		})
	}
}

// A circle of stages, each with one reader.
func TestGraphCircle(t *testing.T) {
	c := wholeGraph("x")
	c.Stages = append(c.Stages, joiner("p", "q"), joiner("q", "p"))
	if _, err := New(c, Options{}); err == nil || !strings.Contains(err.Error(), `stage "p": its inputs lead back to itself`) {
		t.Error(err)
	}
}

// The order of the stages in the config does not matter.
func TestGraphOrder(t *testing.T) {
	c := wholeGraph("x")
	slices.Reverse(c.Stages)
	l, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := map[string]int{}
	for i, n := range l.graph.nodes {
		at[n.config.Name] = i
	}
	for _, n := range l.graph.nodes {
		for _, p := range n.inputs {
			if at[p.node.config.Name] >= at[n.config.Name] {
				t.Errorf("%s comes before %s", n.config.Name, p)
			}
		}
	}
}
