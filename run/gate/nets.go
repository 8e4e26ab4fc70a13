package gate

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// netFile is a net's file.
type netFile struct {
	name    string // of the net
	path    string
	written time.Time
}

// older reports whether a net was written before another. Of nets written at the
// same time none is older.
func (f *netFile) older(than *netFile) bool { return f.written.Before(than.written) }

// listNets returns the net files of a directory, newest first; of equals the last
// by name first. Names that begin with a dot are still being written.
func listNets(dir string) ([]netFile, error) {
	entries, err := fsx.OS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for nets: %w", err)
	}
	var nets []netFile
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), setup.NetSuffix)
		if !ok || name == "" || strings.HasPrefix(name, ".") {
			continue
		}
		info, err := fsx.OS.Stat(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // moved away since
		}
		if err != nil {
			return nil, fmt.Errorf("look for nets: %w", err)
		}
		if info.Mode().IsRegular() {
			nets = append(nets, netFile{name, filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(nets, func(a, b netFile) int {
		return cmp.Or(b.written.Compare(a.written), cmp.Compare(b.name, a.name))
	})
	return nets, nil
}

// newestAccepted returns the net that self-play plays, nil where there is none.
func newestAccepted(dir string) (*netFile, error) {
	path, name, written, err := setup.NewestNet(dir)
	if err != nil {
		return nil, fmt.Errorf("look for the newest accepted net: %w", err)
	}
	if path == "" {
		return nil, nil
	}
	return &netFile{name, path, written}, nil
}

// filesOf lists a candidate's files: its net file last, before it what an
// exporter wrote beside it under the same name (<net>.onnx, or a directory <net>).
func filesOf(candidate *netFile) ([]File, error) {
	dir := filepath.Dir(candidate.path)
	entries, err := fsx.OS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list files of a net: %w", err)
	}
	var files []File
	for _, e := range entries {
		beside := e.Name() == candidate.name || strings.HasPrefix(e.Name(), candidate.name+".")
		if !beside || strings.HasSuffix(e.Name(), setup.NetSuffix) {
			continue
		}
		info, err := fsx.OS.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("list files of a net: %w", err)
		}
		files = append(files, File{e.Name(), info.Size()})
	}
	info, err := fsx.OS.Stat(candidate.path)
	if err != nil {
		return nil, fmt.Errorf("list files of a net: %w", err)
	}
	return append(files, File{filepath.Base(candidate.path), info.Size()}), nil
}

// side is one of the two nets of a match.
type side struct {
	name   string
	sha256 string // of its file, hexadecimal; empty for random weights
	net    *nn.Net
}

// fileSHA256 returns the SHA-256 of a file, hexadecimal.
func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read net: %w", err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read net %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// readSide reads a net file.
func readSide(f *netFile) (*side, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("read net: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	in := io.TeeReader(bufio.NewReader(file), hash)
	s := &side{name: f.name}
	s.net, _, err = nn.ReadSafetensors(in)
	if err == nil {
		err = s.net.CheckFinite()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in) // the hash is that of the whole file
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	s.sha256 = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

// randomSide is the baseline while no net is accepted.
func randomSide(arch nn.Arch, seed uint64) *side {
	return &side{name: RandomNet, net: nn.Init(arch, seed)}
}
