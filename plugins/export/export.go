package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// version is that of all built-in exporters.
const version = "1.0.0"

// Definitions returns the built-in exporters, sorted by name. They write to the
// real file system.
func Definitions() []*stage.Definition { return definitions(fsx.OS) }

// definitions are the built-in exporters over a file system.
func definitions(fsys fsx.FS) []*stage.Definition {
	define := func(name, suffix, doc string, settings []stage.Setting, made func(stage.Values) (prepare, error), more ...stage.Capability) *stage.Definition {
		return &stage.Definition{Kind: stage.KindExporter, Name: name, Version: version, Doc: doc, Settings: settings,
			Capabilities: append([]stage.Capability{stage.Deterministic}, more...),
			NewExporter: func(v stage.Values) (stage.Exporter, error) {
				p, err := made(v)
				return exporter{fsys, name, suffix, p}, err
			}}
	}
	return []*stage.Definition{
		define("lc0", ".pb.gz", "writes the net for Leela's engine (.pb.gz)", leelaSettings, newLeela),
		define("npz", ".npz", "writes the newest training rows as numpy arrays, named as KataGo's", npzSettings, newNPZ, stage.NeedsGames),
		define("onnx", ".onnx", "writes the net as ONNX, inputs and outputs named as lc0 names them", nil, newONNX),
		define("pgn", ".pgn", "writes the newest games as PGN, the search's values in comments", pgnSettings, newPGN, stage.NeedsGames),
		define("safetensors", ".safetensors", "writes the net as chessbrain itself reads it", nil, newSafetensors),
	}
}

// Definition returns a built-in exporter's definition. It panics where there is none.
func Definition(name string) *stage.Definition {
	return stage.MustFind(Definitions(), stage.KindExporter, name)
}

// prepare checks what is to be exported of a checkpoint, and returns what writes it.
type prepare func(ctx context.Context, c *stage.Checkpoint) (write func(io.Writer) error, err error)

// exporter writes <net name><suffix>.
type exporter struct {
	fsys         fsx.FS
	name, suffix string
	prepare      prepare
}

func (e exporter) Name() string { return e.name }

// Export writes the file into dst, which is made if it is missing, and returns its
// path. After an error nothing is written, and dst is not made.
func (e exporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	_, missing := e.fsys.Stat(dst)
	write, err := e.prepare(ctx, c)
	if err = cmp.Or(err, checkName(c.Net.Name), ctx.Err()); err == nil {
		err = fsx.MkdirAll(e.fsys, dst)
	}
	if err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	path := filepath.Join(dst, c.Net.Name+e.suffix)
	if err := fsx.WriteFileFunc(e.fsys, path, write); err != nil {
		if missing != nil {
			e.fsys.Remove(dst)
		}
		return nil, fmt.Errorf("export net: %w", err)
	}
	return []string{path}, nil
}

// metadata returns what is known about a checkpoint as text, for formats that
// have room for it.
func metadata(c *stage.Checkpoint) map[string]string {
	meta := map[string]string{}
	maps.Copy(meta, c.Metadata)
	meta["name"] = c.Net.Name
	meta["step"] = strconv.FormatUint(c.Net.Step, 10)
	meta["samples"] = strconv.FormatUint(c.Net.Samples, 10)
	meta["rows"] = strconv.FormatUint(c.Net.Rows, 10)
	return meta
}

// checkName refuses net names that are no plain file names.
func checkName(name string) error {
	if name == "" || strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return fmt.Errorf("net name %q is not a plain file name", name)
	}
	return nil
}
