package gate

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// newestAccepted returns the net that self-play plays, nil where there is none.
func newestAccepted(dir string) (*run.NetFile, error) {
	newest, err := setup.NewestNet(dir)
	if err != nil {
		return nil, fmt.Errorf("look for the newest accepted net: %w", err)
	}
	return newest, nil
}

// filesOf lists a candidate's files: its net file last, before it what an
// exporter wrote beside it under the same name (<net>.onnx, or a directory <net>).
func filesOf(candidate *run.NetFile) ([]File, error) {
	dir := filepath.Dir(candidate.Path)
	entries, err := fsx.OS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list files of a net: %w", err)
	}
	var files []File
	for _, e := range entries {
		beside := e.Name() == candidate.Name || strings.HasPrefix(e.Name(), candidate.Name+".")
		if !beside || strings.HasSuffix(e.Name(), run.NetSuffix) {
			continue
		}
		info, err := fsx.OS.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("list files of a net: %w", err)
		}
		files = append(files, File{e.Name(), info.Size()})
	}
	info, err := fsx.OS.Stat(candidate.Path)
	if err != nil {
		return nil, fmt.Errorf("list files of a net: %w", err)
	}
	return append(files, File{filepath.Base(candidate.Path), info.Size()}), nil
}

// side is one of the two nets of a match.
type side struct {
	name   string
	sha256 string // of its file, hexadecimal; empty for random weights
	net    *nn.Net
}

// netSHA256 returns the SHA-256 of a net's file.
func netSHA256(net *run.NetFile) (string, error) {
	sum, err := arena.FileSHA256(net.Path)
	if err != nil {
		return "", fmt.Errorf("read net: %w", err)
	}
	return sum, nil
}

// readSide reads a net file.
func readSide(f *run.NetFile) (*side, error) {
	s := &side{name: f.Name}
	var err error
	if s.net, _, s.sha256, err = setup.ReadHashedNet(f.Path); err == nil {
		err = s.net.CheckFinite()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return s, nil
}

// randomSide is the baseline while no net is accepted.
func randomSide(arch nn.Arch, seed uint64) *side {
	return &side{name: RandomNet, net: nn.Init(arch, seed)}
}
