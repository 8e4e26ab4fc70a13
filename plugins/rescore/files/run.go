package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Report says what was done. Damage are the faults that were met, each with its
// file.
type Report struct {
	rescore.Changes
	Files  int     `json:"files"` // written
	Kept   int     `json:"kept"`  // outputs that were there already
	Damage []error `json:"-"`
}

// Run rescores files one after the other. One goroutine at a time.
type Run struct {
	FS       fsx.FS
	Rescorer stage.Rescorer
	Form     lc0.Form // of Leela's chunks; zero: version and input format of each chunk, at least version 6
	Keep     bool     // an output that is there already stays as it is; else that is an error

	Report Report
}

// ErrExists says that an output is there already.
var ErrExists = errors.New("the output is there already")

// Do rescores one file. A file without a single game that can be read gives no
// output but damage. The error is for what cannot be read, written or rescored
// at all; a file that vanished is damage.
func (r *Run) Do(ctx context.Context, j Job) error {
	if _, err := r.FS.Stat(j.Out); err == nil {
		if !r.Keep {
			return fmt.Errorf("%s: %w: choose an empty directory, or keep what is there", j.Out, ErrExists)
		}
		r.Report.Kept++
		return nil
	}
	if err := fsx.MkdirAll(r.FS, filepath.Dir(j.Out)); err != nil {
		return fmt.Errorf("rescore %s: %w", j.In, err)
	}
	do := r.leela
	if j.Kind == Games {
		do = r.games
	}
	err := do(ctx, j)
	if errors.Is(err, fs.ErrNotExist) {
		r.damaged(err)
		return nil
	}
	return err
}

func (r *Run) damaged(err error) { r.Report.Damage = append(r.Report.Damage, err) }

// one rescores a game and counts what changed.
func (r *Run) one(ctx context.Context, g *record.Game) (*record.Game, error) {
	out, err := r.Rescorer.Rescore(ctx, g)
	if err == nil {
		r.Report.Count(g, out)
	}
	return out, err
}

// games rescores a chunk of games. The chunk is written whole in a directory of
// its own, which readers of game directories do not look into, and then moved.
func (r *Run) games(ctx context.Context, j Job) error {
	games, info, err := replay.ReadChunk(r.FS, j.In)
	if err != nil {
		if errors.As(err, new(*replay.VersionError)) {
			r.damaged(err)
			return nil
		}
		return err
	}
	for _, d := range info.Damage {
		r.damaged(d)
	}
	if info.Lost > 0 && !strings.HasSuffix(j.In, replay.GrowingSuffix) { // what grows may end anywhere
		r.damaged(fmt.Errorf("%s: its last %d bytes hold no whole block", j.In, info.Lost))
	}
	if len(games) == 0 {
		r.damaged(fmt.Errorf("%s: no game in it", j.In))
		return nil
	}
	dir, base := filepath.Split(j.Out)
	temp := filepath.Join(dir, ".rescore-"+base)
	if err := fsx.RemoveAll(r.FS, temp); err != nil { // of a run that was killed
		return err
	}
	defer fsx.RemoveAll(r.FS, temp)
	w := replay.NewWriter(r.FS, temp, replay.WriterOptions{NetID: info.NetID, RunID: info.RunID})
	for _, g := range games {
		out, err := r.one(ctx, g)
		if err == nil {
			err = w.Append(out)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", j.In, err), w.Close())
		}
	}
	if err := w.Close(); err != nil { // a chunk is sealed at Sync or Close only: this is the one
		return err
	}
	if err := r.FS.Rename(filepath.Join(temp, firstChunk), j.Out); err != nil {
		return err
	}
	r.Report.Files++
	return fsx.SyncDir(r.FS, filepath.Dir(j.Out))
}

// firstChunk is the name that a Writer gives its first chunk.
const firstChunk = "00000001" + replay.SealedSuffix

// Summary is a report of several files.
type Summary struct {
	Rescorer string `json:"rescorer"`
	*Report
	Damage []string `json:"damage,omitempty"`
	Plan   []Job    `json:"plan,omitempty"` // of a dry run
}

// Write prints the summary for a person.
func (r *Summary) Write(w io.Writer) error {
	var sb strings.Builder
	fmt.Fprintf(&sb, "rescorer   %s\n", r.Rescorer)
	for _, j := range r.Plan {
		fmt.Fprintf(&sb, "%-12s %s -> %s\n", j.Kind, j.In, j.Out)
	}
	if r.Plan == nil {
		fmt.Fprintf(&sb, "files      %d written, %d kept\n", r.Files, r.Kept)
		fmt.Fprintf(&sb, "games      %d, %d changed\n", r.Games, r.GamesChanged)
		fmt.Fprintf(&sb, "positions  %d; changed: %d results, %d plies left, %d policies, %d weights\n",
			r.Positions, r.Results, r.PliesLeft, r.Policies, r.Weights)
	}
	for _, d := range r.Damage {
		fmt.Fprintf(&sb, "damaged    %s\n", d)
	}
	_, err := io.WriteString(w, sb.String())
	return err
}
