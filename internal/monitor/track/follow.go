package track

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Options say what is followed and where it goes.
type Options struct {
	Metrics  string                   // path of metrics.jsonl, which need not be there yet
	Name     string                   // of the run, for people
	Version  string                   // of the program
	Settings map[string]string        // of the run, by path
	Nets     func() ([]string, error) // the files of the run's nets, all with names of their own; nil = none
	// NetSuffix ends the names of all nets. A file of another name beside them is left alone.
	NetSuffix string

	MLflow string // directory of a file store of MLflow; "" = none
	Wandb  string // directory of runs of W&B; "" = none
}

// identity is what a run has from its first event on.
type identity struct {
	ID    string // 32 hexadecimal digits
	Began time.Time
}

// row is the numbers of an event.
type row struct {
	Time    time.Time
	Axis    string // what X counts: "step" or "episode"
	X       int64
	Scalars []monitor.Scalar // all of them finite
}

// tracker writes one run for one program.
type tracker interface {
	// begin prepares to write the run from its first row on.
	begin(identity) error
	add(row) error
	// flush shows readers all that was added. state is the run's newest event of its
	// kind, nil before the first; last says that nothing more comes.
	flush(state *monitor.Run, last bool) error
	// output is the path that flush appends to or below. Another process that writes the
	// run puts one of its own there.
	output() string
}

// Follower writes what a metrics.jsonl holds, as it grows. Used by one goroutine.
type Follower struct {
	opt   Options
	outs  []tracker
	made  []fs.FileInfo // their outputs, as the last flush left them
	began bool
	tail  monitor.Tail
	state *monitor.Run
}

// New returns a Follower that has written nothing yet.
func New(opt Options) *Follower {
	f := &Follower{opt: opt}
	if opt.MLflow != "" {
		f.outs = append(f.outs, &mlflow{opt: opt})
	}
	if opt.Wandb != "" {
		f.outs = append(f.outs, &wandb{opt: opt})
	}
	return f
}

// Update writes what has been added to metrics.jsonl. No file, and one without a whole
// line, is nothing to write. After an error the next call begins the run anew.
func (f *Follower) Update() error { return f.update(false) }

// Close is the last Update: it also says how the run ended.
func (f *Follower) Close() error { return f.update(true) }

func (f *Follower) update(last bool) (err error) {
	defer func() {
		if err != nil {
			*f = *New(f.opt)
			err = fmt.Errorf("track metrics: %w", err)
		}
	}()
	file, err := fsx.Open(f.opt.Metrics)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if !f.tail.Fits(file) || f.replaced() {
		*f = *New(f.opt)
	}
	if _, err := f.tail.Read(file, f.take); err != nil {
		return fmt.Errorf("%s, %w", f.opt.Metrics, err)
	}
	if !f.began {
		return nil
	}
	f.made = f.made[:0]
	for _, t := range f.outs {
		if err := t.flush(f.state, last); err != nil {
			return err
		}
		made, err := os.Stat(t.output())
		if err != nil {
			return err
		}
		f.made = append(f.made, made)
	}
	return nil
}

// replaced says whether another process wrote the run, so that what is there is not what
// this one would append to.
func (f *Follower) replaced() bool {
	for i, made := range f.made {
		now, err := os.Stat(f.outs[i].output())
		if err != nil || !os.SameFile(made, now) {
			return true
		}
	}
	return false
}

// take adds the event of a line.
func (f *Follower) take(line []byte) (more bool, err error) {
	e, err := monitor.Decode(line)
	if errors.Is(err, monitor.ErrUnknownType) { // of a newer program
		return true, nil
	}
	if err == nil {
		err = f.add(e)
	}
	return true, err
}

// add hands an event to the programs. Numbers that are not finite are left out, as they
// are in all curves.
func (f *Follower) add(e monitor.Event) error {
	h := e.Head()
	if !f.began {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", h.Job, h.Time.UnixNano()))
		for _, t := range f.outs {
			if err := t.begin(identity{fmt.Sprintf("%x", sum[:16]), h.Time}); err != nil {
				return err
			}
		}
		f.began = true
	}
	if r, ok := e.(*monitor.Run); ok {
		f.state = r
	}
	x, all := monitor.Scalars(e)
	r := row{Time: h.Time, Axis: "step", X: x}
	for _, s := range all {
		if strings.HasPrefix(s.Tag, "selfplay/") {
			r.Axis = "episode"
		}
		if !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
			r.Scalars = append(r.Scalars, s)
		}
	}
	if len(r.Scalars) == 0 {
		return nil
	}
	for _, t := range f.outs {
		if err := t.add(r); err != nil {
			return err
		}
	}
	return nil
}

// appendTo appends to a file, which is made if it is missing, in one write: a reader
// meets no half of a line.
func appendTo(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// emptied makes an empty directory, whatever was there.
func emptied(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return fsx.MkdirAll(fsx.OS, dir)
}

// putInPlace puts a directory in the place of another.
func putInPlace(dir, by string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(by, dir)
}
