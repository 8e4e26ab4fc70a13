package plugintest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// sampleFunc is a sampler made of a function.
type sampleFunc func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error)

func (sampleFunc) Name() string { return "rows" }
func (f sampleFunc) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	return f(ctx, d, dst)
}

// sampleRows draws rows by weight: a proper sampler.
func sampleRows(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	pcg := rand.NewPCG(d.Seed, d.Stream)
	if len(d.State) > 0 {
		if err := pcg.UnmarshalBinary(d.State); err != nil {
			return dst, nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return dst, nil, err
	}
	if d.Rows > 0 && d.Index.NumRows() == 0 {
		return dst, nil, errors.New("no rows")
	}
	rng := rand.New(pcg)
	for range d.Rows {
		game, ply := d.Index.RowAt(rng.Uint64N(d.Index.WeightSum()))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: 1})
	}
	state, err := pcg.MarshalBinary()
	return dst, state, err
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
