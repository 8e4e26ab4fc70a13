package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/builtin"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// NetForms says what a net may be.
const NetForms = "a net file (safetensors, or Leela's .pb.gz; :policy=HEAD and :value=HEAD behind the name choose of several heads), RUN or CHECKPOINT (a directory), RUN@STEP, builtin (the net inside the program), or random-weights:SEED[:ARCH]"

// randomWeights begins the description of a net that was never trained.
const randomWeights = "random-weights"

// Net is a net and what is known about it.
type Net struct {
	*nn.Net
	Name string
	Meta map[string]string
	Run  string // the run directory in which it lies as a checkpoint; "" = none
}

// OpenNet reads the net that a description means; a file's content, not its name,
// says what it is. forms, such as NetForms, is what the message of a wrong one asks for.
func OpenNet(spec, forms string) (*Net, error) {
	if rest, ok := strings.CutPrefix(spec, randomWeights+":"); ok {
		return randomNet(rest)
	}
	if spec == config.NetBuiltin {
		net, meta, err := builtin.Net()
		return &Net{Net: net, Name: spec, Meta: meta}, err
	}
	if path, _, _ := config.NetPath(spec); fsx.IsFile(path) {
		return ReadNet(spec, forms)
	}
	c, err := setup.FindCheckpoint(spec)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; want %s", err, forms)
	}
	if err != nil {
		return nil, err
	}
	net, err := setup.CheckpointNet(c)
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	maps.Copy(meta, c.Manifest.Info)
	meta[setup.MetaName], meta[setup.MetaStep] = c.Manifest.Name, strconv.FormatInt(c.Manifest.Step, 10)
	root, err := runOf(spec, c.Path)
	return &Net{net, c.Manifest.Name, meta, root}, err
}

// Search is the search that the net should play with, see setup.SearchOf.
func (n *Net) Search() (mcts.Config, error) {
	s, err := setup.SearchOf(n.Meta)
	if err != nil {
		err = fmt.Errorf("%s: %w", n.Name, err)
	}
	return s, err
}

// ReadNet reads a net file.
func ReadNet(path, forms string) (*Net, error) {
	n := &Net{Name: filepath.Base(path)}
	var err error
	n.Net, n.Meta, err = setup.ReadNetFile(path)
	switch {
	case errors.Is(err, setup.ErrONNX):
		return nil, inputError{fmt.Errorf("%w; want %s", err, forms)}
	case errors.Is(err, lc0.ErrUnsupported), errors.Is(err, nn.ErrNoHead):
		return nil, inputError{err}
	case err != nil:
		return nil, err
	}
	return n, nil
}

// randomNet makes the net of SEED or SEED:ARCH.
func randomNet(text string) (*Net, error) {
	seedText, archText, hasArch := strings.Cut(text, ":")
	seed, err := strconv.ParseUint(seedText, 10, 64)
	if err != nil {
		return nil, inputError{fmt.Errorf("%s:%s: want a seed, a number from 0, as in %s:7", randomWeights, text, randomWeights)}
	}
	arch := nn.DefaultArch()
	if hasArch {
		if arch, err = nn.ParseArch(archText); err != nil {
			return nil, inputError{err}
		}
	}
	return &Net{Net: nn.Init(arch, seed), Name: fmt.Sprintf("%s:%d:%s", randomWeights, seed, arch)}, nil
}

// Checkpoint is the net as exporters take it.
func (n *Net) Checkpoint() (*stage.Checkpoint, error) {
	step, _ := strconv.ParseUint(n.Meta[setup.MetaStep], 10, 64) // not known: 0
	return train.StageCheckpoint(n.Net, n.Meta, stage.NetInfo{Name: fileName(n.Name), Step: step})
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a plain file name without the ends of net files of a net's name.
func fileName(name string) string {
	name = filepath.Base(name)
	for _, s := range netSuffixes {
		name = strings.TrimSuffix(name, s.suffix)
	}
	return cmp.Or(strings.TrimLeft(notInNames.ReplaceAllString(name, "-"), ".-"), "net")
}

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
		if name == s.format || name == "" && strings.HasSuffix(path, s.suffix) {
			return s.format, nil
		}
		formats = append(formats, s.format)
	}
	if name == "" {
		return "", inputError{fmt.Errorf("--out %s: the name does not say the format; give --format %s", path, strings.Join(formats, "|"))}
	}
	return "", inputError{fmt.Errorf("--format %q: want %s", name, strings.Join(formats, ", "))}
}

// Write writes a net to a file, which appears as a whole.
func (o *NetWriter) Write(path string, n *Net) error {
	err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error {
		switch o.Format {
		case "lc0":
			steps, _ := strconv.ParseUint(n.Meta[setup.MetaStep], 10, 32) // not known: 0
			info := &lc0.NetInfo{License: n.Meta[setup.MetaLicense], TrainingSteps: uint32(steps), Folded: o.Fold}
			return lc0.WriteNet(w, n.Net, info, o.Encoding)
		case "onnx":
			return lc0.WriteONNX(w, n.Net, n.Meta)
		}
		return nn.WriteSafetensors(w, n.Net, n.Meta)
	})
	if errors.Is(err, lc0.ErrUnsupported) || errors.Is(err, nn.ErrArch) { // a number beyond the encoding, a net beyond the format
		return inputError{err}
	}
	return err
}
