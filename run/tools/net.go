package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// NetForms says what a net may be.
const NetForms = "a net file (safetensors or Leela's .pb.gz), RUN or CHECKPOINT (a directory), RUN@STEP, or random-weights:SEED[:ARCH]"

// randomWeights begins the description of a net that was never trained.
const randomWeights = "random-weights"

// Net is a net and what is known about it.
type Net struct {
	*nn.Net
	Name string
	Meta map[string]string
}

// OpenNet reads the net that a description means; a file's content, not its name,
// says what it is. forms, such as NetForms, is what the message of a wrong one asks for.
func OpenNet(spec, forms string) (*Net, error) {
	if rest, ok := strings.CutPrefix(spec, randomWeights+":"); ok {
		return randomNet(rest)
	}
	if info, err := os.Stat(spec); err == nil && info.Mode().IsRegular() {
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
	meta := maps.Clone(c.Manifest.Info)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[setup.MetaName], meta[setup.MetaStep] = c.Manifest.Name, strconv.FormatInt(c.Manifest.Step, 10)
	return &Net{net, c.Manifest.Name, meta}, nil
}

// ReadNet reads a net file.
func ReadNet(path, forms string) (*Net, error) {
	n := &Net{Name: filepath.Base(path)}
	var err error
	n.Net, n.Meta, err = setup.ReadNetFile(path)
	switch {
	case errors.Is(err, setup.ErrONNX):
		return nil, inputError{fmt.Errorf("%w; want %s", err, forms)}
	case errors.Is(err, lc0.ErrUnsupported):
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
	arch, err := json.Marshal(n.Arch)
	if err != nil {
		return nil, fmt.Errorf("encode net description: %w", err)
	}
	step, _ := strconv.ParseUint(n.Meta[setup.MetaStep], 10, 64) // not known: 0
	meta := maps.Clone(n.Meta)
	delete(meta, nn.MetaArch) // stand beside it
	delete(meta, nn.MetaNetID)
	c := &stage.Checkpoint{Arch: arch, Metadata: meta, Net: stage.NetInfo{Name: fileName(n.Name), ID: n.ID(), Step: step}}
	for _, p := range n.Params {
		c.Tensors = append(c.Tensors, stage.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	return c, nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName makes a plain file name without the ends of net files of a net's name.
func fileName(name string) string {
	name = filepath.Base(name)
	for _, s := range netSuffixes {
		name = strings.TrimSuffix(name, s.suffix)
	}
	name = strings.TrimLeft(notInNames.ReplaceAllString(name, "-"), ".-")
	if name == "" {
		return "net"
	}
	return name
}
