package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Sampler is a plugin's sampler as a stage that is not supervised. It remembers
// what index it has sent and sends differences. While the index stays it asks for
// draws ahead of their use (pace), which makes one a good deal cheaper; where they are
// not wanted after all the plugin's state is set back, so that nobody sees that.
// Safe for concurrent use; calls take turns.
type Sampler struct {
	conn    *Conn
	name    string          // of the stage
	section string          // name of its state
	version int             // of its state
	ctx     context.Context // of NewSampler: bounds the stream and the calls that have no context

	mu     sync.Mutex
	stream *sampleStream // nil: to be opened
	sent   indexSender
	last   *State // after the last answer, if that had one and nothing has changed it since then
	astray bool   // the plugin went on from last by draws that nobody wanted
	pace   pace
	known  [knownStates][]byte // data of states that came with the newest answers: the plugin will take them back
	oldest int                 // of known
	failed error               // of a Seed, which cannot report it
}

// knownStates is more than the answers that a user may prepare in advance and
// then throw away.
const knownStates = 4 * maxAhead

var (
	_ stage.Sampler = (*Sampler)(nil)
	_ stage.Seeder  = (*Sampler)(nil)
)

// NewSampler returns the sampler of a plugin that is open, after asking for its
// state's name and version. It is a *Sampler, usable until ctx ends.
func NewSampler(ctx context.Context, c *Conn, d *stage.Definition) (stage.Sampler, error) {
	st, err := c.Save(ctx)
	if err != nil {
		return nil, err
	}
	return &Sampler{conn: c, name: d.Name, section: st.Name, version: st.Version, ctx: ctx, last: small(st)}, nil
}

// small returns a state that may be kept between calls, nil for a larger one.
func small(st State) *State {
	if len(st.Data) > MaxReplyState {
		return nil
	}
	return &st
}

// Name returns the stage's name.
func (s *Sampler) Name() string { return s.name }

// Sample draws n rows, at most MaxDraw. An answer that is not n rows of idx with
// finite weights >= 0 wraps ErrAnswer. After an error of the connection the next
// call opens another stream and sends the whole index. After that, or the end of
// ctx, the sampler stays where it was, if its state comes with the answers; where
// it is too large for that it is not known whether the sampler has gone on.
func (s *Sampler) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), s.failed); err != nil {
		return dst, err
	}
	if n < 0 || n > MaxDraw {
		return dst, fmt.Errorf("sample: %d rows in one draw, at most %d", n, MaxDraw)
	}
	reply, err := s.exchange(ctx, idx, n)
	if err != nil {
		if ctx.Err() != nil {
			return dst, fmt.Errorf("sample: %w", ctx.Err())
		}
		s.close()
		return dst, err
	}
	if err := s.goOn(reply); err != nil {
		s.close()
		return dst, err
	}
	if reply.GetError() != "" {
		s.stream.missed = true // the next draw may fare better
		return dst, fmt.Errorf("sample: %s", reply.GetError())
	}
	if dst, err = appendRows(dst, idx, n, reply); err != nil {
		s.close()
	}
	return dst, err
}

// exchange makes sure that a draw of n rows of idx is under way and returns its
// answer.
func (s *Sampler) exchange(ctx context.Context, idx stage.Index, n int) (*pluginpb.SampleReply, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	same := s.sent.holds(idx)
	if s.stream.unread > 0 && !(same && s.stream.wanted(n)) {
		if err := s.drain(ctx); err != nil {
			return nil, err
		}
	}
	if s.stream.unread == 0 {
		if !same {
			s.pace.turn()
		}
		draws := 1
		if s.last != nil && len(s.last.Data) <= MaxReplyState/2 { // it comes with the answers, and will
			draws = s.pace.burst()
		}
		var back *State
		if s.astray {
			back = s.last
		}
		if err := s.stream.send(back, &s.sent, idx, n, draws); err != nil {
			return nil, err
		}
		s.astray = false
	}
	s.pace.used++
	return s.stream.next(ctx)
}

// goOn takes over the state that an answer left the sampler in.
func (s *Sampler) goOn(reply *pluginpb.SampleReply) error {
	s.last = nil
	if reply.GetState() == nil {
		if s.stream.unread > 0 {
			return wrongAnswer("sample: the state has come with the answers, and all at once it does not")
		}
		return nil
	}
	var err error
	if s.last, err = s.ownState(reply.GetState()); err == nil {
		s.known[s.oldest] = s.last.Data
		s.oldest = (s.oldest + 1) % knownStates
	}
	return err
}

// settle takes the answers of draws that are not wanted any more and sets the
// sampler back to where it was before them, if that is known.
func (s *Sampler) settle(ctx context.Context) error {
	if err := s.drain(ctx); err != nil || !s.astray {
		return err
	}
	if s.last != nil {
		if err := s.conn.Load(ctx, *s.last); err != nil {
			return err
		}
	}
	s.astray = false
	return nil
}

// drain takes the answers of draws that are not wanted any more, which leaves the
// sampler where the last of them left it.
func (s *Sampler) drain(ctx context.Context) error {
	if s.stream == nil || s.stream.unread == 0 {
		return nil
	}
	s.astray = true
	s.pace.miss()
	return s.stream.drain(ctx)
}

// open opens the stream where there is none.
func (s *Sampler) open() error {
	if s.stream != nil {
		return nil
	}
	stream, err := openSample(s.ctx, s.conn)
	if err != nil {
		return err
	}
	s.stream, s.sent, s.pace = stream, indexSender{}, pace{next: 1}
	return nil
}

// close ends the stream.
func (s *Sampler) close() {
	if s.stream != nil {
		s.stream.cancel()
		s.stream = nil
		s.astray = s.last != nil // wherever the plugin is now
	}
}

// ownState checks that a state is of the name and version that the sampler had
// from the start.
func (s *Sampler) ownState(p *pluginpb.State) (*State, error) {
	st, err := decodeState(p)
	switch {
	case err != nil:
		return nil, err
	case st.Name != s.section || st.Version != s.version:
		return nil, wrongAnswer("state %s of version %d, it was %s of version %d", st.Name, st.Version, s.section, s.version)
	}
	return &st, nil
}

// appendRows appends an answer's rows. On error dst is returned as it was.
func appendRows(dst []stage.RowRef, idx stage.Index, n int, reply *pluginpb.SampleReply) ([]stage.RowRef, error) {
	games, plies, weights := reply.GetGames(), reply.GetPlies(), reply.GetWeights()
	if len(games) != n || len(plies) != n || len(weights) != n {
		return dst, wrongAnswer("sample: %d games, %d plies and %d weights for a draw of %d rows", len(games), len(plies), len(weights), n)
	}
	out := dst
	for i := range n {
		if !holds(idx, games[i], plies[i]) {
			return dst, wrongAnswer("sample: row %d: game %d, ply %d is not in the index", i, games[i], plies[i])
		}
		if w := weights[i]; !(w >= 0 && w <= math.MaxFloat32) {
			return dst, wrongAnswer("sample: row %d: weight %g, want a finite number >= 0", i, w)
		}
		out = append(out, stage.RowRef{Game: games[i], Ply: int32(plies[i]), Weight: weights[i]})
	}
	return out, nil
}

// holds says whether an index has a row.
func holds(idx stage.Index, game uint64, ply uint32) bool {
	i, ok := idx.Find(game)
	if !ok || ply > math.MaxInt32 {
		return false
	}
	rows := idx.Game(i).NumRows
	k := sort.Search(rows, func(k int) bool { return idx.Row(i, k).Ply >= int32(ply) })
	return k < rows && idx.Row(i, k).Ply == int32(ply)
}

// Seed starts the random sequence (seed, stream). A failure is reported by the
// next Sample or Save.
func (s *Sampler) Seed(seed, stream uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = s.settle(s.ctx); s.failed == nil {
		s.failed = s.conn.Seed(s.ctx, seed, stream)
	}
	s.last = nil
}

// LastState returns the state after the last Sample, Save or Load, where it has at
// most MaxReplyState bytes and nothing has changed it since then.
func (s *Sampler) LastState() (version int, state []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return 0, nil, false
	}
	return s.last.Version, s.last.Data, true
}

// Section is the plugin's own state under its own name and version, so that the
// same sampler goes on from it wherever it runs. Save and Load last no longer than
// the context of NewSampler.
func (s *Sampler) Section() stage.Section {
	return stage.Section{Name: s.section, Version: s.version, Save: s.save, Load: s.load}
}

func (s *Sampler) save(w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.last == nil {
		st, err := s.conn.Save(s.ctx)
		if err != nil {
			return err
		}
		if st.Name != s.section || st.Version != s.version {
			return wrongAnswer("state %s of version %d, it was %s of version %d", st.Name, st.Version, s.section, s.version)
		}
		if s.last = small(st); s.last == nil {
			_, err = w.Write(st.Data)
			return err
		}
	}
	_, err := w.Write(s.last.Data)
	return err
}

func (s *Sampler) load(r io.Reader, version int) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxState+1))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.drain(s.ctx); err != nil {
		return err
	}
	st := State{s.section, version, data}
	// Without data it could be an entry of known that was never filled.
	if version == s.version && len(data) > 0 && slices.ContainsFunc(s.known[:], func(d []byte) bool { return bytes.Equal(d, data) }) {
		s.last, s.failed, s.astray = &st, nil, true // the next draw tells the plugin, without a call of its own
		return nil
	}
	if err := s.conn.Load(s.ctx, st); err != nil {
		return err // a state that is refused leaves the sampler astray at most, as it was
	}
	s.last, s.failed, s.astray = nil, nil, false
	if version == s.version {
		s.last = small(st)
	}
	return nil
}
