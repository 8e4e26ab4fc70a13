package setup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/builtin"
	"github.com/chessbrain/chessbrain/run"
)

// Metadata of a net file, besides those of nn.
const (
	MetaName    = "name"
	MetaStep    = "step" // optimizer steps
	MetaLicense = "license"
	// MetaOtherHeads lists the heads of a file that the net did not take.
	MetaOtherHeads = "other_heads"
)

// NamesNet says whether a name is meant as a net file and not as a run or a
// checkpoint: by its name, or because it is a file.
func NamesNet(name string) bool {
	path, _, _ := config.NetPath(name)
	if strings.HasSuffix(path, run.NetSuffix) || strings.HasSuffix(path, ".pb.gz") {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ReadNet reads a net file: safetensors or Leela's .pb.gz. Its name may choose heads, see
// config.NetPath.
func ReadNet(name string) (*nn.Net, error) {
	net, _, err := ReadNetFile(name)
	return net, err
}

// ReadArch reads the architecture alone of a file of ours.
func ReadArch(path string) (nn.Arch, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nn.Arch{}, fmt.Errorf("read net: %w", err)
	}
	defer f.Close()
	return nn.ReadArch(f)
}

// ReadNetFile reads a net file and what it says of the net; the file's content,
// not its name, says what it is. A net of Leela's that the rooms here cannot
// hold is lc0.ErrUnsupported.
func ReadNetFile(name string) (*nn.Net, map[string]string, error) {
	path, _, _ := config.NetPath(name)
	f, err := fsx.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read net: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	head, err := r.Peek(16)
	if err != nil && err != io.EOF {
		return nil, nil, fmt.Errorf("read net %s: %w", path, err)
	}
	if lc0.IsNet(head) {
		net, info, err := lc0.ReadNet(r)
		if err != nil {
			return nil, nil, fmt.Errorf("read net %s: %w", path, err)
		}
		meta := map[string]string{MetaName: filepath.Base(name), MetaLicense: info.License,
			MetaStep: strconv.FormatUint(uint64(info.TrainingSteps), 10)}
		if info.OtherHeads != "" {
			meta[MetaOtherHeads] = info.OtherHeads
		}
		return choose(name, net, meta)
	}
	if bytes.HasPrefix(head, []byte{0x08}) && !bytes.HasPrefix(head[min(8, len(head)):], []byte("{")) {
		return nil, nil, fmt.Errorf("read net %s: %w", path, ErrONNX)
	}
	net, meta, err := nn.ReadSafetensors(r)
	if _, bad := errors.AsType[*nn.FormatError](err); bad && bytes.HasPrefix(head[min(4, len(head)):], []byte("\x00\x00\x00\x00{")) {
		return nil, nil, fmt.Errorf("read net %s: the safetensors file is damaged, put it back from a copy: %w", path, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read net %s: neither Leela's .pb.gz nor safetensors of ours, name another file: %w", path, err)
	}
	return choose(name, net, meta)
}

// choose takes the heads that a net's name chooses, and adds those that it leaves to meta.
func choose(name string, net *nn.Net, meta map[string]string) (*nn.Net, map[string]string, error) {
	_, policy, value := config.NetPath(name)
	net, others, err := net.Choose(policy, value)
	if err != nil {
		return nil, nil, fmt.Errorf("read net %s: %w", name, err)
	}
	if before := meta[MetaOtherHeads]; before != "" {
		others = append(others, before)
	}
	if len(others) > 0 {
		meta[MetaOtherHeads] = strings.Join(others, ", ")
	}
	return net, meta, nil
}

// ReadHashedNet reads a file of ours, what it says of the net, and its SHA-256,
// hexadecimal, which is "" only where the file cannot be read.
func ReadHashedNet(path string) (net *nn.Net, meta map[string]string, sha string, err error) {
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return nil, nil, "", err
	}
	net, meta, err = nn.ReadSafetensors(bytes.NewReader(data))
	return net, meta, fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// ErrONNX says that a file is what export-net wrote for other programs.
var ErrONNX = errors.New("it looks like an ONNX model, which is written but not read")

// NewestNet returns the net below dir that a playing process of the run takes: the first of
// NetsBelow; nil where there is none.
func NewestNet(d run.Dir, dir string) (*run.NetFile, error) {
	nets, err := NetsBelow(d, dir)
	if err != nil || len(nets) == 0 {
		return nil, err
	}
	return &nets[0], nil
}

// NetsBelow returns the nets below dir in the run's order, the newest first. Files and
// directories whose names begin with a dot are still being written.
func NetsBelow(d run.Dir, dir string) (nets []run.NetFile, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path != dir && errors.Is(err, fs.ErrNotExist):
			return nil // went away in the meantime
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && path != dir:
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir() || !strings.HasSuffix(path, run.NetSuffix):
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			nets = append(nets, run.NetFile{Name: netNameIn(dir, path), Path: path, Written: info.ModTime()})
		}
		return err
	})
	run.SortNets(d, nets)
	return nets, err
}

// netNameIn returns the name of the net in a file below a directory of nets.
func netNameIn(dir, path string) string {
	name := strings.TrimSuffix(filepath.Base(path), run.NetSuffix)
	if own := filepath.Dir(path); name+run.NetSuffix == NetFile && own != filepath.Clean(dir) {
		return filepath.Base(own) // <name>/net.safetensors
	}
	return name
}

// NetFile is the net that the configuration begins with: the path of a file, or
// config.NetBuiltin; "" = seeded weights, or what the run has.
func (t *Training) NetFile() string { return t.e.Config.GetModel().GetNet() }

// FirstNet returns the weights that the run in e's directory begins or began with: those
// that it keeps, unless the configuration names others, or else those of InitialNet.
func FirstNet(e *config.Effective, seed uint64) (*nn.Net, error) {
	kept := run.Dir{Root: e.Config.GetRunDir()}.InitialNet()
	if e.Config.GetModel().GetNet() == "" && fsx.IsFile(kept) {
		return ReadNet(kept)
	}
	return InitialNet(e, seed)
}

// firstArch returns the architecture of FirstNet.
func firstArch(c *config.Config) (nn.Arch, error) {
	name, kept := c.GetModel().GetNet(), run.Dir{Root: c.GetRunDir()}.InitialNet()
	switch {
	case name == config.NetBuiltin:
		net, _, err := builtin.Net()
		if err != nil {
			return nn.Arch{}, err
		}
		return net.Arch, nil
	case name != "":
		return archOfFile(name)
	case c.GetRunDir() != "" && fsx.IsFile(kept):
		return ReadArch(kept)
	}
	return ArchOf(c.GetModel().GetArch())
}

// leelaArchs are architectures of Leela's files, which have to be read as a whole, by
// path and time.
var leelaArchs sync.Map

// archOfFile returns the architecture of a net file.
func archOfFile(name string) (nn.Arch, error) {
	if arch, err := ReadArch(name); err == nil {
		return arch, nil
	}
	path, _, _ := config.NetPath(name)
	info, err := os.Stat(path)
	if err != nil {
		return nn.Arch{}, err
	}
	key := name + info.ModTime().String()
	if arch, ok := leelaArchs.Load(key); ok {
		return arch.(nn.Arch), nil
	}
	net, err := ReadNet(name)
	if err != nil {
		return nn.Arch{}, err
	}
	leelaArchs.Store(key, net.Arch)
	return net.Arch, nil
}

// InitialNet returns the weights that a configuration names: those of the net file
// that the configuration names, the net inside the program, or seeded ones; with an
// the heads that losses want.
func InitialNet(e *config.Effective, seed uint64) (*nn.Net, error) {
	learns := func(net *nn.Net) *nn.Net { // a file of a net that plays lacks heads that only learn
		return net.WithHeads(learning(e.Config, net.Arch), seed)
	}
	switch name := e.Config.GetModel().GetNet(); {
	case name == config.NetBuiltin:
		net, _, err := builtin.Net()
		if err != nil {
			return nil, err
		}
		return learns(net), nil
	case name != "":
		net, err := ReadNet(name)
		if _, bad := errors.AsType[*nn.FormatError](err); bad || errors.Is(err, lc0.ErrCorrupt) {
			return nil, fmt.Errorf("%s: %w", e.Origin("model.net"), err)
		}
		if err != nil {
			return nil, e.Errorf("model.net", "name a net file of chessbrain's or Leela's, a kind (b6c64) or filters x blocks (64x6)", "%v", err)
		}
		return learns(net), nil
	}
	arch, err := trainedArch(e.Config)
	if err != nil {
		return nil, &config.Error{Field: "model.arch", Reason: err.Error()}
	}
	return nn.Init(arch, seed), nil
}
