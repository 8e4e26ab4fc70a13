package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena/ladder"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/join"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Status is one page of a run's state. Times are UTC, durations seconds, sizes
// bytes.
type Status struct {
	Root    string    `json:"root"`
	Job     string    `json:"job,omitempty"` // empty: nothing was trained yet, or Unreadable
	Starts  int       `json:"starts,omitempty"`
	Program string    `json:"program,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Now     time.Time `json:"now"`

	Unreadable bool `json:"unreadable,omitempty"` // run.json, for the reason that Warnings have

	Loop      *LoopStatus      `json:"loop,omitempty"` // nil: the run has no cycles
	Progress  []Progress       `json:"progress,omitempty"`
	Nets      NetStatus        `json:"nets"`
	Rows      RowStatus        `json:"rows"`
	Trainings []TrainingStatus `json:"trainings,omitempty"` // the run's own first
	Ratings   []RatingStatus   `json:"ratings,omitempty"`   // strongest first
	Ladder    *ladder.Result   `json:"ladder,omitempty"`    // the newest
	Disk      DiskStatus       `json:"disk"`
	Processes []Process        `json:"processes,omitempty"`
	Fleet     *join.Page       `json:"fleet,omitempty"`  // players on other machines; nil: none has joined
	Limits    []Limit          `json:"limits,omitempty"` // what matters most first
	Warnings  []string         `json:"warnings,omitempty"`
}

// LoopStatus is where the cycles are.
type LoopStatus struct {
	Cycle      int64             `json:"cycle"` // under way, or the next
	Cycles     int64             `json:"cycles_done"`
	Stage      Stage             `json:"stage,omitempty"` // begun and not ended
	Since      time.Time         `json:"since,omitzero"`
	Next       Stage             `json:"next,omitempty"` // to be done, where none is begun
	Running    bool              `json:"running"`        // a process works on the stage, or on the journal
	Stopped    string            `json:"stopped,omitempty"`
	Games      int64             `json:"games"`                 // of self-play, in finished stages
	Worked     float64           `json:"worked"`                // in stages that ended
	MoreGames  int64             `json:"more_games,omitempty"`  // of self-play that has not ended
	MoreWorked float64           `json:"more_worked,omitempty"` // since the stage's newest begin; of interrupted self-play up to its last game
	Broken     int64             `json:"killed"`                // stages that were begun and did not end
	Seconds    map[Stage]float64 `json:"seconds"`               // of all stages that ended
	Shares     map[Stage]float64 `json:"shares,omitempty"`      // of Worked; none before a cycle is done: the first stages are not typical
	// Of the cycles that were not interrupted: seconds from their first line to their
	// last, and the share that is not playing, training or matching.
	Measured float64 `json:"measured,omitempty"`
	Overhead float64 `json:"overhead,omitempty"`
}

// Progress is how far something under way is.
type Progress struct {
	What    string  `json:"what"`
	Have    float64 `json:"have"`
	Need    float64 `json:"need"` // 0 = no end
	Unit    string  `json:"unit"`
	Rate    float64 `json:"rate,omitempty"` // units a second
	ETA     float64 `json:"eta,omitempty"`  // 0 = not known
	Details string  `json:"details,omitempty"`
}

// NetStatus is what became of the nets.
type NetStatus struct {
	Newest   string       `json:"newest"`            // that plays, in a file or handed over by the trainer; "random" while there is none
	Since    time.Time    `json:"since,omitzero"`    // its file
	Playing  bool         `json:"playing,omitempty"` // somebody plays with it, or will in this cycle
	Accepted int          `json:"accepted"`
	Rejected int          `json:"rejected"`
	Waiting  int          `json:"waiting"` // for the gatekeeper
	ToExport int          `json:"to_export"`
	Gate     *gate.Result `json:"gate,omitempty"` // newest decision
}

// RowStatus is how many rows there are and how much was trained on them.
type RowStatus struct {
	Rows     int64   `json:"rows"` // training rows of all games, at the newest shuffle
	Usable   int64   `json:"usable_rows"`
	Window   int64   `json:"window_rows"`
	Shuffled int64   `json:"shuffled_rows"`
	Shuffle  string  `json:"shuffle,omitempty"`   // name of the newest
	Have     int64   `json:"have_rows,omitempty"` // set where the newest attempt had too few
	Need     int64   `json:"need_rows,omitempty"`
	Samples  int64   `json:"samples"` // that the run's own training was trained on
	Steps    int64   `json:"steps"`
	Ratio    float64 `json:"samples_per_row,omitempty"` // Samples / Rows
}

// DiskStatus is what a run takes on disk.
type DiskStatus struct {
	Used  int64            `json:"used"`
	Parts map[string]int64 `json:"parts"` // of Used, by the name in the run directory; files there are "files"
	Free  uint64           `json:"free"`
	Total uint64           `json:"total"`
	Keep  uint64           `json:"keep_free"` // below this nobody plays on
}

// RatingStatus is a line of the rating list.
type RatingStatus struct {
	Name  string  `json:"name"`
	Elo   float64 `json:"elo"`
	Error float64 `json:"error"` // standard error
	Games int     `json:"games"`
}

// ReadStatus gathers the state of the run at root. What cannot be read becomes a
// warning; an error says that root is no run directory.
func ReadStatus(ctx context.Context, root string) (*Status, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, setup.NoRun(root)
	}
	if err != nil {
		return nil, fmt.Errorf("status: %w; name a run directory", err)
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "status", Path: root, Err: errors.New("a file; name a run directory")}
	}
	s := &Status{Root: root, Now: time.Now().UTC()}
	warn := func(err error) {
		if err != nil {
			s.Warnings = append(s.Warnings, err.Error())
		}
	}
	dir := run.Dir{Root: root}
	about, exists, err := run.ReadRunInfo(root)
	if !exists && err == nil && !anyThere(dir.Selfplay(), dir.Models(), dir.Logs()) {
		return nil, setup.NoRun(root)
	}
	s.Unreadable = err != nil
	if exists {
		s.Job, s.Starts, s.Program, s.Created = about.Job, about.Starts, about.Program, about.Created
	}
	warn(err)
	entries, err := ReadJournal(root)
	warn(err)
	var state *State // nil: the run has no cycles
	if len(entries) > 0 {
		state = NewState(entries)
		s.Loop = statusOf(state)
	}
	s.Processes, err = readProcesses(ctx, dir)
	warn(err)
	s.Fleet, err = join.DirOf(root).Page()
	warn(err)
	if s.Fleet != nil {
		if all, _, _ := s.Fleet.Count(s.Now); all == 0 {
			s.Fleet = nil
		}
	}
	s.readNets(dir)
	if exists {
		warn(s.readTrainings())
	}
	warn(s.readRows(dir, state))
	index, err := readCatalogue(dir)
	warn(err)
	if index != nil {
		for _, r := range index.Ratings {
			s.Ratings = append(s.Ratings, RatingStatus{Name: r.Name, Elo: r.Elo, Error: r.Error, Games: r.Games})
		}
	}
	s.Disk, err = readDisk(root)
	warn(err)
	s.addProgress(state)
	warn(s.addMore(ctx, dir, state))
	s.Limits = limits(s, state)
	return s, nil
}

// statusOf says where the cycles of a state are.
func statusOf(state *State) *LoopStatus {
	l := &LoopStatus{Cycle: state.Cycle, Cycles: state.Cycles, Stopped: state.Stopped, Games: state.Games, Worked: state.Worked.Seconds(),
		Broken: state.Broken, Seconds: state.Stages, Measured: state.Measured, Overhead: state.Overhead()}
	if state.Begun != nil {
		l.Stage, l.Since = state.Begun.Stage, state.Begun.Time
	} else if next, ok := state.Next(); ok {
		l.Next = next
	}
	if state.Worked > 0 && state.Cycles > 0 {
		l.Shares = map[Stage]float64{}
		for stage, seconds := range state.Stages {
			l.Shares[stage] = seconds / l.Worked
		}
	}
	return l
}

// addMore adds what the stage under way did so far.
func (s *Status) addMore(ctx context.Context, dir run.Dir, state *State) (err error) {
	if state == nil {
		return nil
	}
	l, last := s.Loop, s.Loop.Since
	if state.process > 0 && !state.done[SelfPlay] {
		games, process := int64(0), fmt.Sprintf("p%d", state.process)
		i := slices.IndexFunc(s.Progress, func(p Progress) bool { return p.What == "self-play "+process })
		if i >= 0 {
			games = int64(s.Progress[i].Have)
		} else {
			games, last, err = play.OnDisk(ctx, dir, process)
		}
		l.MoreGames = max(0, games-state.counted)
	}
	if l.Running {
		last = s.Now
	}
	if l.Stage != "" {
		l.MoreWorked = max(0, last.Sub(l.Since).Seconds())
	}
	return err
}

// Overhead is the share of the measured cycles that is not playing, training or
// matching, [0,1]; 0 where none was measured.
func (s *State) Overhead() float64 {
	if s.Measured <= 0 {
		return 0
	}
	work := s.Parts[SelfPlay] + s.Parts[Train] + s.Parts[Gatekeeper] + s.Parts[Rating]
	return max(0, 1-work/s.Measured)
}

func (s *Status) readNets(dir run.Dir) {
	n := &s.Nets
	n.Newest = gate.RandomNet
	if newest, err := setup.NewestNet(dir, dir.Models()); err == nil && newest != nil {
		n.Newest, n.Since = newest.Name, newest.Written.UTC()
	}
	n.Playing = slices.ContainsFunc(s.Processes, func(p Process) bool {
		return p.Role == string(run.Loop) || strings.HasPrefix(p.Role, rolesOf[SelfPlay])
	})
	n.Accepted, n.Rejected, n.Waiting = countNets(dir.Models()), countNets(dir.Rejected()), countNets(dir.Candidates())
	handed, _ := fsx.Dirs(fsx.OS, dir.ToExport())
	n.ToExport = len(handed)
	if matches, _ := gate.Played(dir.Gates()); len(matches) > 0 {
		n.Gate = matches[0]
	}
	s.Ladder = newestLadder(dir)
}

// anyThere says whether one of the paths is there: a run has some of them before a
// trainer's first start, too.
func anyThere(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// newestLadder returns what the ladder said last of a net of the run, nil where it was
// not asked. An answer that cannot be read is made anew by the next climb.
func newestLadder(dir run.Dir) (newest *ladder.Result) {
	paths, _ := filepath.Glob(filepath.Join(run.LadderOf(dir.Root, "*"), run.LadderName)) // the pattern is well-formed
	var since time.Time
	for _, path := range paths {
		info, err := os.Stat(path)
		r := &ladder.Result{}
		if err != nil || info.ModTime().Before(since) {
			continue
		}
		if _, err := run.ReadJSON(path, r); err == nil {
			newest, since = r, info.ModTime()
		}
	}
	return newest
}

func (s *Status) readRows(dir run.Dir, state *State) error {
	r := &s.Rows
	m, _, err := prepare.ReadShuffle(dir.Shuffled())
	if m != nil {
		r.Rows, r.Usable, r.Window, r.Shuffled, r.Shuffle = m.RealRows+m.RandomRows, m.Usable, m.Used, m.TrainRows, m.Name
	}
	if state != nil {
		if last := state.Last[Shuffle]; last.Event == Skip {
			r.Have, r.Need = int64(last.Figures[FigureHave]), int64(last.Figures[FigureNeed])
		}
	}
	if len(s.Trainings) > 0 {
		own := s.Trainings[0]
		r.Samples, r.Steps, r.Rows = own.Samples, own.Steps, cmp.Or(r.Rows, own.rows)
	}
	if r.Rows > 0 {
		r.Ratio = float64(r.Samples) / float64(r.Rows)
	}
	return err
}

// readDisk adds up the sizes of the run's files. A file with several names counts under
// the first, one that goes away meanwhile not at all.
func readDisk(root string) (DiskStatus, error) {
	d := DiskStatus{Parts: map[string]int64{}}
	seen := map[[2]int64][]fs.FileInfo{} // by size and time, which all names of a file share
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err != nil {
			return gone(err)
		}
		look := [2]int64{info.Size(), info.ModTime().UnixNano()}
		if slices.ContainsFunc(seen[look], func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			return nil
		}
		seen[look] = append(seen[look], info)
		part, _, below := strings.Cut(run.Dir{Root: root}.Shorten(path), "/")
		if !below {
			part = "files"
		}
		d.Parts[part] += info.Size()
		d.Used += info.Size()
		return nil
	})
	var space fsx.Space
	if err == nil {
		space, err = fsx.OS.Space(root)
	}
	if err != nil {
		return d, fmt.Errorf("disk use: %w", err)
	}
	d.Free, d.Total, d.Keep = space.Free, space.Total, fsx.DefaultReserve.Of(space)+replay.ChunkBytes
	return d, nil
}

// sortedStages returns the stages of a map, the longest first.
func sortedStages(seconds map[Stage]float64) []Stage {
	stages := slices.Clone(Stages)
	slices.SortStableFunc(stages, func(a, b Stage) int { return cmp.Compare(seconds[b], seconds[a]) })
	return slices.DeleteFunc(stages, func(s Stage) bool { return seconds[s] < 0.005 }) // those are written as 0s
}
