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
	"sync"
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
	accepted      time.Time // by the gatekeeper; zero = not that it is known
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

// SortNets sorts nets of a run, newest first; of equals the last by name first. The times of files change
// when they are copied or put back, so they count only where nothing else is known: nets of
// one training come by samples, and those that the gatekeeper accepted as it accepted them.
// A net is older than its successor whatever its file says. Names without samples, and
// different trainings without gating, come by time.
func SortNets(d Dir, nets []NetFile) {
	lines := map[string][]*NetFile{}
	var accepted []*NetFile
	for i := range nets {
		n := &nets[i]
		line, samples, rows, own := ParseNetName(n.Name)
		n.turn, n.samples, n.rows = n.Written, samples, rows
		if !own {
			continue
		}
		lines[line] = append(lines[line], n)
		if n.accepted = acceptedAt(d, n); !n.accepted.IsZero() {
			accepted = append(accepted, n)
		}
	}
	slices.SortFunc(accepted, func(a, b *NetFile) int { return cmp.Or(a.accepted.Compare(b.accepted), compareSamples(a, b)) })
	inTurn(accepted)
	for _, line := range lines {
		slices.SortFunc(line, compareSamples)
		next := 0
		for i, n := range line { // those accepted change places among themselves
			if n.accepted.IsZero() {
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
	slices.SortFunc(nets, func(a, b NetFile) int {
		return cmp.Or(b.turn.Compare(a.turn), cmp.Compare(b.Name, a.Name))
	})
}

// inTurn puts the time of each net before that of the next one.
func inTurn(nets []*NetFile) {
	for i := len(nets) - 2; i >= 0; i-- {
		if next := nets[i+1].turn; !nets[i].turn.Before(next) {
			nets[i].turn = next.Add(-1)
		}
	}
}

// acceptances are the times at which nets were accepted, by the path of the decision and the
// time of the net's file. A playing process looks at all nets every few seconds.
var acceptances sync.Map

// acceptedAt returns when the run's gatekeeper accepted a net; zero where it did not, or where
// its decision cannot be read.
func acceptedAt(d Dir, n *NetFile) (at time.Time) {
	if d.Root == "" {
		return at
	}
	path := d.GateResult(n.Name)
	key := path + n.Written.String()
	if known, ok := acceptances.Load(key); ok {
		return known.(time.Time)
	}
	var r struct {
		Accepted bool      `json:"accepted"`
		Ended    time.Time `json:"ended"`
	}
	if there, err := ReadJSON(path, &r); there && err == nil && r.Accepted {
		at = r.Ended
		acceptances.Store(key, at)
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
