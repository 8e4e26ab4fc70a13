package shuffle

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"time"
)

// Input is one game file of the window.
type Input struct {
	Path      string   `json:"path"`
	Bytes     int64    `json:"bytes"` // its first ones, that hold whole blocks
	Games     int      `json:"games"` // without duplicates
	TrainRows int64    `json:"train_rows"`
	ValRows   int64    `json:"val_rows"`
	Random    bool     `json:"random,omitempty"`
	Skip      []string `json:"skip,omitempty"` // ids of games that a newer file holds too
}

// Plan is what a shuffle will do: written to the disk before it begins, and
// with the result to the marker.
type Plan struct {
	Format    int       `json:"format"`
	Name      string    `json:"name"` // the shuffle's directory, YYYYMMDD-HHMMSS (UTC)
	Created   time.Time `json:"created"`
	Program   string    `json:"program"`
	InputDirs []string  `json:"input_dirs"`
	Scratch   string    `json:"scratch"`
	Settings
	layout

	// All training rows of trained and of untrained nets, and of both those whose
	// files retention has removed; what the formula counts and says; the rows of the
	// files that it takes (newest first, until the window is full; the last file as a
	// whole), and the share of them that is kept.
	RealRows    int64   `json:"real_rows"`
	RandomRows  int64   `json:"random_rows"`
	RemovedRows int64   `json:"removed_rows,omitempty"`
	Usable      int64   `json:"usable_rows"`
	Want        int64   `json:"window_rows"`
	Used        int64   `json:"used_rows"`
	ValRows     int64   `json:"used_val_rows"`
	KeepShare   float64 `json:"keep_share"`

	// Range is [a,b): of all training rows, oldest first, numbers a to b-1 are in
	// the window. b minus the b of the shuffle before is the number of new rows.
	Range [2]int64 `json:"range"`

	Inputs     []Input  `json:"inputs"` // newest first
	Files      int      `json:"files"`  // game files found in all
	Games      int      `json:"games"`  // in those, each once
	Duplicates int      `json:"duplicates"`
	Quarantine []string `json:"quarantine,omitempty"` // damage found: what was left out
}

const planFormat = 1

// MakePlan finds and counts the games and says what a shuffle of them would do.
// It creates nothing. Where there are not enough rows it returns the plan
// together with a *ShortError.
func MakePlan(ctx context.Context, o Options) (*Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p, _, err := o.plan(ctx)
	return p, err
}

// plan is MakePlan after Validate; it returns the new index of games too.
func (o *Options) plan(ctx context.Context) (*Plan, index, error) {
	old, err := readIndex(o.FS, filepath.Join(o.OutputDir, indexName))
	if err != nil {
		o.say("%v: all game files are read again", err)
	}
	chunks, fresh, removed, err := o.count(ctx, old)
	if err != nil {
		return nil, nil, err
	}
	p := &Plan{Format: planFormat, Created: o.Now.UTC(), Program: o.Program, InputDirs: slices.Clone(o.InputDirs),
		Settings: o.Settings, Files: len(chunks)}
	all := p.addUp(chunks)
	for _, f := range removed { // they were there, the formula knows them, and the numbers of later rows do not change
		p.RemovedRows += f.TrainRows
		p.addRows(f.TrainRows, f.Random)
	}
	p.choose(all)
	if p.layout, err = o.newLayout(p.Expected(p.Used), p.Expected(p.ValRows)); err != nil {
		return nil, nil, err
	}
	if p.Usable < p.Window.MinRows {
		return p, fresh, &ShortError{Have: p.Usable, Need: p.Window.MinRows, Dirs: o.InputDirs}
	}
	return p, fresh, nil
}

// Expected returns the number of rows kept of so many, on average; at least 1
// where one may be kept.
func (p *Plan) Expected(rows int64) int64 {
	return min(rows, max(1, int64(float64(rows)*p.KeepShare+0.5)))
}

// Memory returns the bytes that the buckets take, about; 0 where the plan was
// read from a file.
func (p *Plan) Memory() int64 { return p.memory }

// DiskBytes returns the size of the result at most, about.
func (p *Plan) DiskBytes() int64 { return p.Expected(p.Used+p.ValRows) * rowBytesGuess }

// addUp counts rows and leaves out games that a newer file holds too, or that
// the same file holds twice. It returns all files that hold games.
func (p *Plan) addUp(chunks []*chunk) (inputs []Input) {
	seen := map[[16]byte]*chunk{} // where a game counts
	for _, c := range chunks {
		for _, err := range c.problems {
			p.Quarantine = append(p.Quarantine, err.Error())
		}
		in := Input{Path: c.path, Bytes: c.bytes, Random: c.random}
		for _, g := range c.games {
			if holder := seen[g.id]; holder != nil {
				p.Duplicates++
				if holder != c {
					in.Skip = append(in.Skip, hex.EncodeToString(g.id[:]))
				}
				continue
			}
			seen[g.id] = c
			in.Games++
			if p.validation(c.path, g.id) {
				in.ValRows += int64(g.rows)
			} else {
				in.TrainRows += int64(g.rows)
			}
		}
		p.Games += in.Games
		p.addRows(in.TrainRows, in.Random)
		if in.Games > 0 {
			inputs = append(inputs, in)
		}
	}
	return inputs
}

func (p *Plan) addRows(rows int64, random bool) {
	if random {
		p.RandomRows += rows
	} else {
		p.RealRows += rows
	}
}

// choose takes files, newest first, until the window is full.
func (p *Plan) choose(all []Input) {
	p.Usable = p.Window.Usable(p.RealRows, p.RandomRows)
	p.Want = p.Window.MinRows
	if p.Usable >= p.Window.MinRows {
		p.Want = p.Window.Want(p.Usable)
	}
	for _, in := range all {
		if p.Used >= p.Want {
			break
		}
		p.Inputs = append(p.Inputs, in)
		p.Used += in.TrainRows
		p.ValRows += in.ValRows
	}
	p.KeepShare = p.Window.KeepShare(p.Used)
	total := p.RealRows + p.RandomRows
	p.Range = [2]int64{total - p.Used, total}
}
