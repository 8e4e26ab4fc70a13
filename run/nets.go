package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// NetSuffix ends the names of net files.
const NetSuffix = ".safetensors"

// NetFile is a net's file in a directory of nets.
type NetFile struct {
	Name    string // of the net
	Path    string
	Bytes   int64
	Written time.Time
	Linked  bool // a symbolic link: somebody keeps the file elsewhere
}

// Older reports whether a net was written before another. Of nets written at the
// same time none is older.
func (f *NetFile) Older(than *NetFile) bool { return f.Written.Before(than.Written) }

// ListNets returns the net files of a directory, newest first, as self-play
// orders them; of equals the last by name first. Names that begin with a dot are
// still being written. A directory that is not there is fs.ErrNotExist.
func ListNets(dir string) ([]NetFile, error) {
	entries, err := fsx.OS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list nets: %w", err)
	}
	var nets []NetFile
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), NetSuffix)
		if !ok || name == "" || strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := fsx.OS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // moved away since
		}
		if err != nil {
			return nil, fmt.Errorf("list nets: %w", err)
		}
		if info.Mode().IsRegular() {
			nets = append(nets, NetFile{name, path, info.Size(), info.ModTime(), e.Type()&fs.ModeSymlink != 0})
		}
	}
	slices.SortFunc(nets, func(a, b NetFile) int {
		return cmp.Or(b.Written.Compare(a.Written), cmp.Compare(b.Name, a.Name))
	})
	return nets, nil
}

// netName is how trainers name nets.
var netName = regexp.MustCompile(`^(.*)-s(\d+)-d(\d+)$`)

// ParseNetName takes a net's name apart: <job>-<training>, samples and rows.
func ParseNetName(name string) (line string, samples, rows int64, ok bool) {
	m := netName.FindStringSubmatch(name)
	if m == nil {
		return "", 0, 0, false
	}
	samples, errS := strconv.ParseInt(m[2], 10, 64)
	rows, errR := strconv.ParseInt(m[3], 10, 64)
	return m[1], samples, rows, errS == nil && errR == nil
}
