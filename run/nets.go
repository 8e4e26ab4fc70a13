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

	turn          time.Time // of SortNets: Written, or before that of the net that follows in the run
	samples, rows int64     // of the name, of nets of a training
}

// SameLine reports whether two nets are of one training, by their names. Their samples say
// then which is older.
func (f *NetFile) SameLine(g *NetFile) bool {
	a, _, _, own := ParseNetName(f.Name)
	b, _, _, also := ParseNetName(g.Name)
	return own && also && a == b
}

// Older reports whether a net came before another: of one training by samples, else by
// their times in the order of each one's directory. Of nets of the same time none is older.
func (f *NetFile) Older(than *NetFile) bool {
	if f.SameLine(than) {
		return compareSamples(f, than) < 0
	}
	return f.turn.Before(than.turn)
}

func compareSamples(a, b *NetFile) int {
	return cmp.Or(cmp.Compare(a.samples, b.samples), cmp.Compare(a.rows, b.rows))
}

// SortNets sorts nets of a run, newest first. The times of files change when they are copied
// or put back, so they count only where nothing else is known: nets of one training come by
// samples, and those that the gatekeeper accepted as it accepted them. A net is older than
// its successor whatever its file says. Names without samples, and different trainings
// without gating, come by time; of equals the one of more samples is first, then the last by
// name.
func SortNets(d Dir, nets []NetFile) {
	lines := map[string][]*NetFile{}
	for i := range nets {
		n := &nets[i]
		line, samples, rows, own := ParseNetName(n.Name)
		n.turn, n.samples, n.rows = n.Written, samples, rows
		if own {
			lines[line] = append(lines[line], n)
		}
	}
	astray := len(lines) > 1 // times may say another order than the run
	for _, line := range lines {
		slices.SortFunc(line, compareSamples)
		astray = astray || !slices.IsSortedFunc(line, func(a, b *NetFile) int { return a.Written.Compare(b.Written) })
	}
	if astray {
		putInTurn(d, lines)
	}
	slices.SortFunc(nets, func(a, b NetFile) int {
		return cmp.Or(b.turn.Compare(a.turn), compareSamples(&b, &a), cmp.Compare(b.Name, a.Name))
	})
}

// putInTurn gives nets of trainings, each by samples, the turns that the run knows.
func putInTurn(d Dir, lines map[string][]*NetFile) {
	at, accepted := map[*NetFile]time.Time{}, []*NetFile(nil)
	for _, line := range lines {
		for _, n := range line {
			if when := acceptedAt(d, n.Name); !when.IsZero() {
				at[n], accepted = when, append(accepted, n)
			}
		}
	}
	slices.SortFunc(accepted, func(a, b *NetFile) int {
		return cmp.Or(at[a].Compare(at[b]), compareSamples(a, b), cmp.Compare(a.Name, b.Name))
	})
	inTurn(accepted)
	for _, line := range lines {
		next := 0
		for i, n := range line { // those accepted change places among themselves
			if at[n].IsZero() {
				continue
			}
			for !accepted[next].SameLine(n) {
				next++
			}
			line[i] = accepted[next]
			next++
		}
		inTurn(line)
	}
}

// inTurn puts the time of each net before that of the next one.
func inTurn(nets []*NetFile) {
	for i := len(nets) - 2; i >= 0; i-- {
		if next := nets[i+1].turn; !nets[i].turn.Before(next) {
			nets[i].turn = next.Add(-1)
		}
	}
}

// acceptedAt returns when the run's gatekeeper accepted a net; zero where it did not, or where
// its decision cannot be read.
func acceptedAt(d Dir, name string) (at time.Time) {
	var r struct {
		Accepted bool      `json:"accepted"`
		Ended    time.Time `json:"ended"`
	}
	if d.Root == "" {
		return at
	}
	if there, err := ReadJSON(d.GateResult(name), &r); there && err == nil && r.Accepted {
		at = r.Ended
	}
	return at
}

// ListNets returns the net files of a directory in the run's order, newest first. Names that
// begin with a dot are still being written. A directory that is not there is fs.ErrNotExist.
func ListNets(d Dir, dir string) ([]NetFile, error) {
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
			nets = append(nets, NetFile{Name: name, Path: path, Bytes: info.Size(), Written: info.ModTime(), Linked: e.Type()&fs.ModeSymlink != 0})
		}
	}
	SortNets(d, nets)
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
