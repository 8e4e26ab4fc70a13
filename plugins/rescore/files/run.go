package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
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
	before := r.Report.Changes
	err := do(ctx, j)
	if err != nil {
		r.Report.Changes = before // of a file that was not written
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.damaged(err)
		return nil
	}
	return err
}

func (r *Run) damaged(err error) { r.Report.Damage = append(r.Report.Damage, err) }

// batchGames is how many games are rescored in one call: enough to fill the batches of a
// search and the messages of a plugin.
const batchGames = 256

// rescore rescores games, not too many, and counts what changed.
func (r *Run) rescore(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	out, err := stage.RescoreAll(ctx, r.Rescorer, games)
	if err != nil {
		return nil, err
	}
	for i, g := range games {
		r.Report.Count(g, out[i])
	}
	return out, nil
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
	for some := range slices.Chunk(games, batchGames) {
		out, err := r.rescore(ctx, some)
		for i := 0; err == nil && i < len(out); i++ {
			err = w.Append(out[i])
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

// Search says what searched positions again before other rescorers worked.
type Search struct {
	Net       string  `json:"net"`
	NetID     string  `json:"net_id"`
	Visits    int     `json:"visits"` // wanted; 0 = as many as each position had
	Gumbel    bool    `json:"gumbel"`
	Share     float64 `json:"share"`     // of the positions that was to be searched
	Positions int64   `json:"positions"` // searched; all others keep their targets
}

// Summary is a report of several files.
type Summary struct {
	Rescorer string  `json:"rescorer"`
	Search   *Search `json:"search,omitempty"`
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
		if s := r.Search; s != nil {
			fmt.Fprintf(&sb, "searched   %d positions with %s; %d keep their targets\n", s.Positions, s.Net, int64(r.Positions)-s.Positions)
		}
	}
	for _, d := range r.Damage {
		fmt.Fprintf(&sb, "damaged    %s\n", d)
	}
	_, err := io.WriteString(w, sb.String())
	return err
}
