package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Source fills training batches with rows of a window that a sampler chooses.
// Used by one goroutine; the window may change meanwhile.
type Source struct {
	window   *Window
	sampler  stage.Sampler
	replayer record.Replayer
	refs     []stage.RowRef
	rows     uint64 // handed out since the beginning
	state    []byte // of the sampler after them; empty = it begins
	owner    string // name of the sampler whose state that is

	record.Extra // that rows have

	// Symmetries makes every row appear under one of the board's symmetries that keep
	// it true, drawn evenly: files flipped where nobody may castle, all eight where
	// there are no pawns either. Which one is a hash of the seed and the number of the
	// row, so it needs no state.
	Symmetries bool

	// Keep makes Next name rows by number (encoding.KeptRows) as long as the window has
	// at most so many: for a trainer whose device keeps them (trainer.Trainer.KeptRows).
	Keep int

	seed    uint64
	stream  uint64
	foreign string // of the sampler whose state the last load found and left alone
}

// NewSource returns a source over w, whose sampler draws the sequence (seed, stream).
func NewSource(w *Window, sampler stage.Sampler, seed, stream uint64) *Source {
	return &Source{window: w, sampler: sampler, owner: sampler.Name(), seed: seed, stream: stream}
}

// draw says from where the sampler draws next. One that begins after some rows has
// another seed than at the beginning, or it would draw the first rows once more. It
// also begins where another one has taken the place of a plugin that failed for good.
func (s *Source) draw() stage.Draw {
	d := stage.Draw{State: s.state, Seed: s.seed ^ s.rows*0x9e3779b97f4a7c15, Stream: s.stream}
	if s.owner != s.sampler.Name() {
		d.State = nil
	}
	return d
}

// Next fills b, which comes empty, with as many rows as it has room for
// (len(b.Masks)). The window is used as it is at the call. It never ends: an
// empty window is ErrNoRows.
func (s *Source) Next(ctx context.Context, b *encoding.TrainBatch) error {
	view, n := s.window.View(), len(b.Masks)
	if view.NumRows() == 0 {
		return ErrNoRows
	}
	d := s.draw()
	d.Index, d.Rows = view, n
	refs, state, err := s.sampler.Sample(ctx, d, s.refs[:0])
	if err != nil {
		return stage.KindSampler.Named(s.sampler.Name(), err)
	}
	s.refs = refs
	if len(refs) != n {
		return fmt.Errorf("sampler %s returned %d rows, %d were asked for", s.sampler.Name(), len(refs), n)
	}
	s.replayer.Extra = s.Extra
	add := s.spellRow
	if view.NumRows() <= s.Keep {
		add = s.nameRow
		b.Kept.Of = &viewRows{view, s.Extra}
	}
	for k, ref := range refs {
		i, err := checkRef(view, ref)
		if err == nil {
			err = add(b, view, i, ref, s.seed^(s.rows+uint64(k)))
		}
		if err != nil {
			return stage.KindSampler.Named(s.sampler.Name(), err)
		}
	}
	s.rows += uint64(n)
	s.state, s.owner = state, s.sampler.Name()
	return nil
}

// Version changes when the window does: rows drawn before are not those that
// would be drawn now.
func (s *Source) Version() uint64 { return s.window.Version() }

// spellRow appends the row of a reference to game i under the symmetry that draw chooses.
func (s *Source) spellRow(b *encoding.TrainBatch, view *View, i int, ref stage.RowRef, draw uint64) error {
	if err := appendRow(b, &s.replayer, view.GameRecord(i), ref.Ply); err != nil {
		return err
	}
	row := b.N - 1
	if b.Weight[row] = ref.Weight; s.Symmetries {
		b.ApplySymmetry(row, b.DrawSymmetry(row, draw))
	}
	return nil
}

// nameRow appends the number of the row of a reference to game i, and the draw.
func (s *Source) nameRow(b *encoding.TrainBatch, view *View, i int, ref stage.RowRef, draw uint64) error {
	e := view.entries[i]
	k, _ := slices.BinarySearch(e.Plies, ref.Ply)
	b.AppendKept(e.StartRow+uint64(k), ref.Weight)
	if s.Symmetries {
		b.Kept.Draw = append(b.Kept.Draw, draw)
	}
	return nil
}

// appendRow appends a row of a game, with its own weight.
func appendRow(b *encoding.TrainBatch, r *record.Replayer, g *record.Game, ply int32) error {
	if err := r.AppendRow(b, g, int(ply)); err != nil {
		return fmt.Errorf("row of ply %d of game %x: %w", ply, g.ID, err)
	}
	return nil
}

// checkRef returns the index of the game that a reference, which may come from a plugin,
// means.
func checkRef(view *View, ref stage.RowRef) (game int, err error) {
	i, ok := view.Find(ref.Game)
	if !ok {
		return 0, fmt.Errorf("game %d is not in the window", ref.Game)
	}
	g := view.GameRecord(i)
	if ref.Ply < 0 || int(ref.Ply) >= len(g.Plies) || !g.Plies[ref.Ply].Trained() {
		return 0, fmt.Errorf("ply %d of game %x is not a row for training", ref.Ply, g.ID)
	}
	if w := float64(ref.Weight); !(w >= 0) || math.IsInf(w, 0) {
		return 0, fmt.Errorf("weight %v of ply %d of game %x is not a finite number >= 0", ref.Weight, ref.Ply, g.ID)
	}
	return i, nil
}

// sourceState is the JSON form of a source's section.
type sourceState struct {
	Rows           uint64 `json:"rows"`
	Sampler        string `json:"sampler"`
	SamplerVersion int    `json:"sampler_version"` // 1
	SamplerState   []byte `json:"sampler_state"`
}

// Section is the cursor: the sampler's state and the rows handed out. Over a
// window with the same games the same rows follow.
func (s *Source) Section() stage.Section {
	return JSONSection("source", "source section", 1, func() sourceState {
		return sourceState{Rows: s.rows, Sampler: s.owner, SamplerVersion: 1, SamplerState: s.state}
	}, s.load)
}

func (s *Source) load(state sourceState) error {
	if state.Sampler == "" {
		return errors.New("source section: it names no sampler")
	}
	name, foreign := s.sampler.Name(), ""
	switch {
	case state.Sampler != name:
		state.SamplerState, foreign = nil, state.Sampler
	case state.SamplerVersion != 1:
		return fmt.Errorf("source section: state of sampler %s has version %d, this program reads 1", name, state.SamplerVersion)
	}
	s.rows, s.state, s.owner, s.foreign = state.Rows, state.SamplerState, name, foreign
	return nil
}

// Check asks the sampler whether it can go on from the state that was loaded.
func (s *Source) Check(ctx context.Context) error {
	if _, _, err := s.sampler.Sample(ctx, s.draw(), nil); err != nil {
		return stage.KindSampler.Named(s.sampler.Name(), err)
	}
	return nil
}

// Foreign returns the name of the sampler whose state was loaded last and was not
// this sampler's: the count of rows goes on from it, and the sampler began a
// state of its own. "" = there was none.
func (s *Source) Foreign() string { return s.foreign }

// With returns a source like s whose sampler draws from the position that Section saved.
// A sampler of the same name goes on from the state of the old one; another, or one that
// refuses that state, begins a state of its own, and began says why.
func (s *Source) With(ctx context.Context, sampler stage.Sampler, position []byte) (next *Source, began string, err error) {
	next = NewSource(s.window, sampler, s.seed, s.stream)
	next.Extra, next.Symmetries, next.Keep = s.Extra, s.Symmetries, s.Keep
	section := next.Section()
	if err := section.Load(bytes.NewReader(position), section.Version); err != nil {
		return nil, "", err
	}
	if err := next.Check(ctx); err != nil { // perhaps of the state alone
		began, next.state = err.Error(), nil
		if err := next.Check(ctx); err != nil {
			return nil, "", err
		}
	}
	if next.foreign != "" {
		began = fmt.Sprintf("the state so far is that of sampler %s", next.foreign)
	}
	return next, began, nil
}
