package export

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// version is that of all built-in exporters.
const version = "1.0.0"

// Definitions returns the built-in exporters, sorted by name. They write to the
// real file system.
func Definitions() []*stage.Definition { return definitions(fsx.OS) }

// definitions are the built-in exporters over a file system.
func definitions(fsys fsx.FS) []*stage.Definition {
	return []*stage.Definition{
		define(leelaDefinition(fsys)),
		define(npzDefinition(fsys), stage.NeedsGames),
		define(&stage.Definition{Name: "onnx", Doc: "writes the net as ONNX, inputs and outputs named as lc0 names them",
			NewExporter: func(stage.Values) (stage.Exporter, error) { return NewONNX(fsys), nil }}),
		define(pgnDefinition(fsys), stage.NeedsGames),
		define(&stage.Definition{Name: "safetensors", Doc: "writes the net as chessbrain itself reads it",
			NewExporter: func(stage.Values) (stage.Exporter, error) { return NewSafetensors(fsys), nil }}),
	}
}

// define fills in what all built-in exporters have in common.
func define(d *stage.Definition, more ...stage.Capability) *stage.Definition {
	d.Kind, d.Version = stage.KindExporter, version
	d.Capabilities = append([]stage.Capability{stage.Deterministic}, more...)
	return d
}

// Definition returns a built-in exporter's definition. It panics where there is
// none.
func Definition(name string) *stage.Definition {
	d, err := stage.Find(Definitions(), stage.KindExporter, name)
	if err != nil {
		panic(err)
	}
	return d
}

// writeNet checks a checkpoint and writes its net as <net name><suffix> into dst.
// It returns the path as an exporter does.
func writeNet(ctx context.Context, fsys fsx.FS, c *stage.Checkpoint, dst, suffix string, write func(io.Writer, *nn.Net) error) ([]string, error) {
	net, err := netOf(c)
	if err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	return writeFile(ctx, fsys, c, dst, suffix, func(w io.Writer) error { return write(w, net) })
}

// writeFile writes <net name><suffix> into dst, which is made if it is missing.
// It returns the path as an exporter does.
func writeFile(ctx context.Context, fsys fsx.FS, c *stage.Checkpoint, dst, suffix string, write func(io.Writer) error) ([]string, error) {
	err := checkName(c.Net.Name)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = fsx.MkdirAll(fsys, dst)
	}
	if err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	path := filepath.Join(dst, c.Net.Name+suffix)
	if err := fsx.WriteFileFunc(fsys, path, write); err != nil {
		return nil, fmt.Errorf("export net: %w", err)
	}
	return []string{path}, nil
}

// metadata returns what is known about a checkpoint as text, for formats that
// have room for it.
func metadata(c *stage.Checkpoint) map[string]string {
	meta := maps.Clone(c.Metadata)
	if meta == nil {
		meta = map[string]string{}
	}
	meta["name"] = c.Net.Name
	meta["step"] = strconv.FormatUint(c.Net.Step, 10)
	meta["samples"] = strconv.FormatUint(c.Net.Samples, 10)
	meta["rows"] = strconv.FormatUint(c.Net.Rows, 10)
	return meta
}

// checkName refuses net names that are no plain file names.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return fmt.Errorf("net name %q is not a plain file name", name)
	}
	return nil
}
