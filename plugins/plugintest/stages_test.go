package plugintest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// rowSampler draws rows by weight: a proper sampler, each of whose parts a test
// can replace by a broken one.
type rowSampler struct {
	pcg    *rand.PCG
	sample func(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error)
	save   func(s *rowSampler, w io.Writer) error
	load   func(s *rowSampler, r io.Reader, version int) error
	name   string // of the section
}

func newRowSampler() *rowSampler {
	return &rowSampler{pcg: rand.NewPCG(1, 2), sample: sampleRows, save: saveRows, load: loadRows, name: "rows"}
}

func (*rowSampler) Name() string               { return "rows" }
func (s *rowSampler) Seed(seed, stream uint64) { s.pcg.Seed(seed, stream) }

func (s *rowSampler) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	return s.sample(s, ctx, idx, n, dst)
}

func (s *rowSampler) Section() stage.Section {
	return stage.Section{Name: s.name, Version: 3,
		Save: func(w io.Writer) error { return s.save(s, w) },
		Load: func(r io.Reader, version int) error { return s.load(s, r, version) }}
}

func sampleRows(s *rowSampler, ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	if idx.NumRows() == 0 {
		return dst, errors.New("no rows")
	}
	rng := rand.New(s.pcg)
	for range n {
		game, ply := idx.RowAt(rng.Uint64N(idx.WeightSum()))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: 1})
	}
	return dst, nil
}

func saveRows(s *rowSampler, w io.Writer) error {
	data, err := s.pcg.MarshalBinary()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func loadRows(s *rowSampler, r io.Reader, version int) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if version != 3 {
		return fmt.Errorf("state version %d, want 3", version)
	}
	var pcg rand.PCG
	if err := pcg.UnmarshalBinary(data); err != nil {
		return err
	}
	*s.pcg = pcg
	return nil
}

// samplerOf defines a sampler made by a function.
func samplerOf(make1 func() stage.Sampler) *stage.Definition {
	return &stage.Definition{Kind: stage.KindSampler, Name: "rows", Version: "1", Doc: "draws rows by weight",
		Capabilities: []stage.Capability{stage.Deterministic},
		NewSampler:   func(stage.Values) (stage.Sampler, error) { return make1(), nil }}
}

// rawExporter writes the tensors, or the games where it wants them, as one file.
type rawExporter struct {
	games  bool
	export func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error)
}

func (rawExporter) Name() string { return "raw" }

func (e rawExporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	return e.export(e, ctx, c, dst)
}

// exportRaw is the proper export.
func exportRaw(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	data, err := e.content(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := fsx.MkdirAll(fsx.OS, dst); err != nil {
		return nil, err
	}
	path := filepath.Join(dst, c.Net.Name+".raw")
	return []string{path}, fsx.WriteFile(fsx.OS, path, data)
}

// content checks the checkpoint and returns the file.
func (e rawExporter) content(ctx context.Context, c *stage.Checkpoint) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Net.Name == "" || filepath.Base(c.Net.Name) != c.Net.Name {
		return nil, fmt.Errorf("net name %q", c.Net.Name)
	}
	var data []byte
	if e.games {
		if c.Games == nil {
			return nil, errors.New("there are no games to be had")
		}
		for g, err := range c.Games {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			if data, err = record.Append(data, g); err != nil {
				return nil, err
			}
		}
		return data, nil
	}
	if c.Arch[0] != '{' || len(c.Tensors) != len(Checkpoint(0, nil).Tensors) {
		return nil, errors.New("not the net that the architecture describes")
	}
	for _, t := range c.Tensors {
		data, _ = binary.Append(data, binary.LittleEndian, t.Data)
	}
	return data, nil
}

// exporterOf defines an exporter that exports with a function.
func exporterOf(games bool, export func(rawExporter, context.Context, *stage.Checkpoint, string) ([]string, error)) *stage.Definition {
	d := &stage.Definition{Kind: stage.KindExporter, Name: "raw", Version: "1", Doc: "writes what it is given as it is",
		Capabilities: []stage.Capability{stage.Deterministic},
		NewExporter:  func(stage.Values) (stage.Exporter, error) { return rawExporter{games, export}, nil }}
	if games {
		d.Capabilities = append(d.Capabilities, stage.NeedsGames)
	}
	return d
}
