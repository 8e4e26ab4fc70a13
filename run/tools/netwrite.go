package tools

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// NetWriter is a format of net files and how it is written.
type NetWriter struct {
	Format   string            // safetensors, lc0 or onnx
	Encoding lc0.LayerEncoding // of lc0
	Fold     bool              // batch norm into the convolutions, of lc0
}

// netSuffixes are the formats by the end of a file's name.
var netSuffixes = []struct{ suffix, format string }{
	{".safetensors", "safetensors"}, {".pb.gz", "lc0"}, {".onnx", "onnx"},
}

// NetFormat returns the named format, or that of a file's name where none is named.
func NetFormat(name, path string) (string, error) {
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
		return "", inputError{fmt.Errorf("--out %s: the name does not say the format; give --format %s", path, strings.Join(formats, "|"))}
	}
	return "", inputError{fmt.Errorf("--format %q: want %s", name, strings.Join(formats, ", "))}
}

// Write writes a net to a file, which appears as a whole.
func (o *NetWriter) Write(path string, n *Net) error {
	meta := maps.Clone(n.Meta)
	delete(meta, nn.MetaArch)
	delete(meta, nn.MetaNetID)
	err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error {
		switch o.Format {
		case "lc0":
			steps, _ := strconv.ParseUint(meta[setup.MetaStep], 10, 32) // not known: 0
			info := &lc0.NetInfo{License: meta[setup.MetaLicense], TrainingSteps: uint32(steps), Folded: o.Fold}
			return lc0.WriteNet(w, n.Net, info, o.Encoding)
		case "onnx":
			return lc0.WriteONNX(w, n.Net, meta)
		}
		return nn.WriteSafetensors(w, n.Net, meta)
	})
	if errors.Is(err, lc0.ErrUnsupported) { // a number beyond the encoding, a net beyond the format
		return inputError{err}
	}
	return err
}
