package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// netForms says what a net may be.
const netForms = "a net file (safetensors or Leela's .pb.gz), RUN or CHECKPOINT (a directory), RUN@STEP, or random-weights:SEED[:ARCH]"

// anyNet is a net of the command line and what is known about it.
type anyNet struct {
	*nn.Net
	name string
	meta map[string]string
}

// openNet reads the net that a description means; a file's content, not its name,
// says what it is.
func openNet(spec string) (*anyNet, error) {
	if rest, ok := strings.CutPrefix(spec, randomWeights+":"); ok {
		net, name, err := randomNet(rest)
		return &anyNet{net, name, nil}, err
	}
	if info, err := os.Stat(spec); err == nil && info.Mode().IsRegular() {
		return readNetFile(spec)
	}
	c, err := setup.FindCheckpoint(spec)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; want %s", err, netForms)
	}
	if err != nil {
		return nil, pathError(err)
	}
	net, err := setup.CheckpointNet(c)
	if err != nil {
		return nil, err
	}
	meta := maps.Clone(c.Manifest.Info)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[setup.MetaName], meta[setup.MetaStep] = c.Manifest.Name, strconv.FormatInt(c.Manifest.Step, 10)
	return &anyNet{net, c.Manifest.Name, meta}, nil
}

func readNetFile(path string) (*anyNet, error) {
	n := &anyNet{name: filepath.Base(path)}
	var err error
	n.Net, n.meta, err = setup.ReadNetFile(path)
	switch {
	case errors.Is(err, setup.ErrONNX):
		return nil, usagef("%w; want %s", err, netForms)
	case errors.Is(err, lc0.ErrUnsupported):
		return nil, usageError{err}
	case err != nil:
		return nil, pathError(err)
	}
	return n, nil
}

// netWriter is a format of net files and how it is written.
type netWriter struct {
	format   string // safetensors, lc0 or onnx
	encoding lc0.LayerEncoding
	fold     bool
}

// netSuffixes are the formats by the end of a file's name.
var netSuffixes = []struct{ suffix, format string }{
	{".safetensors", "safetensors"}, {".pb.gz", "lc0"}, {".onnx", "onnx"},
}

// formatOf returns the named format, or that of a file's name where none is named.
func formatOf(name, path string) (string, error) {
	var formats []string
	for _, s := range netSuffixes {
		if name == "" && strings.HasSuffix(path, s.suffix) {
			return s.format, nil
		}
		formats = append(formats, s.format)
	}
	switch {
	case slices.Contains(formats, name):
		return name, nil
	case name == "":
		return "", usagef("--out %s: the name does not say the format; give --format %s", path, strings.Join(formats, "|"))
	}
	return "", usagef("--format %q: want %s", name, strings.Join(formats, ", "))
}

// checkOut refuses a path that cannot be written, before work is done for it.
func checkOut(path string) error {
	if path == "" {
		return usagef("--out: name a file")
	}
	if err := canCreate(path); err != nil {
		return pathError(fmt.Errorf("--out: %w", err))
	}
	return nil
}

// write writes a net to a file, which appears as a whole.
func (o *netWriter) write(path string, n *anyNet) error {
	meta := maps.Clone(n.meta)
	delete(meta, nn.MetaArch)
	delete(meta, nn.MetaNetID)
	err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error {
		switch o.format {
		case "lc0":
			steps, _ := strconv.ParseUint(meta[setup.MetaStep], 10, 32) // not known: 0
			info := &lc0.NetInfo{License: meta[setup.MetaLicense], TrainingSteps: uint32(steps), Folded: o.fold}
			return lc0.WriteNet(w, n.Net, info, o.encoding)
		case "onnx":
			return lc0.WriteONNX(w, n.Net, meta)
		}
		return nn.WriteSafetensors(w, n.Net, meta)
	})
	if errors.Is(err, lc0.ErrUnsupported) { // a number beyond the encoding, a net beyond the format
		return usageError{err}
	}
	return pathError(err)
}
