package plugintest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestBrokenExporters breaks one rule after another.
func TestBrokenExporters(t *testing.T) {
	var calls atomic.Int64
	for name, c := range map[string]struct {
		games  bool
		export func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error)
		find   string
	}{
		"names another file": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			_, err := exportRaw(e, ctx, c, dst)
			return []string{filepath.Join(dst, "other.raw")}, err
		}, "the files that it names"},
		"leaves a second file": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			paths, err := exportRaw(e, ctx, c, dst)
			if err == nil {
				err = fsx.WriteFile(fsx.OS, filepath.Join(dst, "second"), []byte("x"))
			}
			return paths, err
		}, "the files that it names"},
		"changes the checkpoint": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			c.Tensors[0].Data[0]++
			return exportRaw(e, ctx, c, dst)
		}, "the files that it names"},
		"an empty file": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			paths, err := exportRaw(e, ctx, c, dst)
			if err == nil {
				err = os.Truncate(paths[0], 0)
			}
			return paths, err
		}, "the files that it names"},
		"is not the same": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			paths, err := exportRaw(e, ctx, c, dst)
			if err == nil {
				err = os.WriteFile(paths[0], bytes.Repeat([]byte("x"), int(calls.Add(1))), 0o600)
			}
			return paths, err
		}, "the same bytes twice"},
		"leaves half a file": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			paths, err := exportRaw(e, ctx, c, dst)
			if err != nil && os.MkdirAll(dst, 0o700) == nil {
				err = errors.Join(err, os.WriteFile(filepath.Join(dst, "half"), []byte("x"), 0o600))
			}
			return paths, err
		}, "leaves nothing"},
		"leaves the directory": {false, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			named := *c
			named.Net.Name = "net" // passes every check
			data, err := e.content(ctx, &named)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(dst, c.Net.Name+".raw")
			if err := fsx.MkdirAll(fsx.OS, filepath.Dir(path)); err != nil {
				return nil, err
			}
			return []string{path}, fsx.WriteFile(fsx.OS, path, data)
		}, "leaves nothing"},
		"does not stop": {false, func(e rawExporter, _ context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			return exportRaw(e, context.Background(), c, dst)
		}, "leaves nothing"},
		"does without games": {true, func(e rawExporter, ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
			if c.Games == nil {
				other := *c
				other.Games = func(func(*record.Game, error) bool) {}
				c = &other
			}
			return exportRaw(e, ctx, c, dst)
		}, "leaves nothing"},
	} {
		t.Run(name, func(t *testing.T) { finds(t, Bare(exporterOf(c.games, c.export), nil), c.find) })
	}
}
