package export

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/stage"
)

// exporters makes the built-in exporters by name.
var exporters = map[string]func(fsx.FS) stage.Exporter{
	"lc0":         func(fsys fsx.FS) stage.Exporter { return NewLeela(fsys, lc0.Linear16) },
	"onnx":        func(fsys fsx.FS) stage.Exporter { return NewONNX(fsys) },
	"safetensors": func(fsys fsx.FS) stage.Exporter { return NewSafetensors(fsys) },
}

// Names returns the names of the built-in exporters, sorted.
func Names() []string { return slices.Sorted(maps.Keys(exporters)) }

// New returns a built-in exporter by name, writing to the real file system.
func New(name string) (stage.Exporter, error) {
	newExporter, ok := exporters[name]
	if !ok {
		return nil, fmt.Errorf("unknown exporter %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return newExporter(fsx.OS), nil
}

// writeNet checks a checkpoint and writes its net as <net name><suffix> into dst,
// which is made if it is missing. It returns the path as an exporter does.
func writeNet(ctx context.Context, fsys fsx.FS, c *stage.Checkpoint, dst, suffix string, write func(io.Writer, *nn.Net) error) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	net, err := netOf(c)
	if err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	if err := fsx.MkdirAll(fsys, dst); err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	path := filepath.Join(dst, c.Net.Name+suffix)
	if err := fsx.WriteFileFunc(fsys, path, func(w io.Writer) error { return write(w, net) }); err != nil {
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
