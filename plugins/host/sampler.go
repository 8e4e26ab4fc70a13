package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// sampler is a plugin's sampler under supervision. After the death of a process
// the next one gets the state before the draw that was under way, and the same
// draw. Safe for concurrent use; calls take turns.
type sampler struct {
	sup     *supervisor
	turn    chan struct{} // holds one token while nobody has the turn
	section stage.Section // name and version of the state

	// The rest belongs to whoever has the turn.
	client  *api.Sampler // nil = to be made
	of      *process     // whose client it is
	from    point        // where the last answer left the sampler
	stale   bool         // the plugin may be elsewhere: a draw was cancelled
	seed    *[2]uint64   // seed and stream that it was not told yet
	seeded  *[2]uint64   // the last ones that came, for a stand-in
	told    bool         // that the state is too large
	standIn stage.Sampler
}

var (
	_ stage.Sampler = (*sampler)(nil)
	_ stage.Seeder  = (*sampler)(nil)
)

// newSampler takes over a process that has described itself as a sampler.
func (h *Host) newSampler(ctx context.Context, proc *process, settings map[string]string) (*sampler, error) {
	sup, err := h.supervise(ctx, proc, settings)
	if err != nil {
		return nil, err
	}
	s := &sampler{sup: sup, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	d := sup.deadline()
	if err := s.bring(proc, d); err != nil || d.hung.Load() {
		err = sup.failure(d, "told its state", err)
		return nil, errors.Join(err, sup.close())
	}
	s.section = s.client.Section()
	return s, nil
}

// Name returns the stage's name.
func (s *sampler) Name() string { return s.sup.name }

func (s *sampler) give() { s.turn <- struct{}{} }

// Sample appends n rows of idx to dst. An error is the stage's own, such as one
// about an index without rows, or that of ctx, or ErrGivenUp, or ErrClosed.
func (s *sampler) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return dst, ctx.Err()
	}
	defer s.give()
	var out []stage.RowRef
	err := s.call(ctx, "drew rows", func(client *api.Sampler) (err error) {
		s.stale = true // until the answer is there
		begun := time.Now()
		out, err = client.Sample(ctx, idx, n, dst)
		_, _, known := client.LastState() // then a draw that was cancelled does not count
		s.stale = ctx.Err() != nil && !known
		if err == nil {
			s.sup.stats.call(0, n, 0, time.Since(begun))
		}
		return err
	})
	if s.standIn != nil {
		return s.standIn.Sample(ctx, idx, n, dst)
	}
	var own *refusal
	if err == nil || errors.As(err, &own) {
		s.drawn(idx, n)
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// drawn notes a draw that was answered.
func (s *sampler) drawn(idx stage.Index, n int) {
	if version, state, ok := s.client.LastState(); ok {
		s.from = point{version: version, state: state}
		return
	}
	if !s.told {
		s.told = true
		s.sup.h.o.Log.Info(fmt.Sprintf("sampler %s: its state has more than %d KiB and does not come with each answer: it is saved every %d draws, and after a death the draws since then are made again",
			s.sup.name, api.MaxReplyState>>10, maxDraws), "plugin", s.sup.name)
	}
	s.from.draws = append(s.from.draws, draw{idx, n})
}

// refusal is an error of the stage itself: the plugin is well.
type refusal struct{ err *Error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// call makes one call of the plugin, of a process in the right state, again and
// again until it is answered. Errors: a *refusal, that of ctx, ErrGivenUp (not
// where a stand-in takes over), ErrClosed.
func (s *sampler) call(ctx context.Context, while string, f func(*api.Sampler) error) error {
	if s.standIn != nil {
		return nil
	}
	for {
		if err := s.ready(ctx); err != nil {
			return s.replace(err)
		}
		d := s.sup.deadline()
		err := d.call(func() error { return f(s.client) })
		if usable := s.sup.usable(ctx); err != nil && usable != nil {
			return usable
		}
		if (err == nil || ofStage(err)) && !d.hung.Load() {
			s.sup.succeeded()
			if err != nil {
				return &refusal{&Error{Kind: s.sup.kind, Name: s.sup.name, Did: "refused the call", Err: err}}
			}
			return nil
		}
		err = s.sup.failure(d, while, err)
		s.client = nil
		s.sup.fail(err)
	}
}

// ofStage says that err is what the stage itself answered.
func ofStage(err error) bool {
	if _, isCall := status.FromError(err); isCall {
		return status.Code(err) == codes.InvalidArgument
	}
	return !errors.Is(err, api.ErrAnswer) && !errors.Is(err, api.ErrEnded)
}

// Seed starts the random sequence (seed, stream). The next call tells the plugin.
func (s *sampler) Seed(seed, stream uint64) {
	<-s.turn
	defer s.give()
	s.seed = &[2]uint64{seed, stream}
	s.seeded = s.seed
	if seeder, ok := s.standIn.(stage.Seeder); ok {
		seeder.Seed(seed, stream)
	}
}

// Section is the plugin's own state, under its own name and version.
func (s *sampler) Section() stage.Section {
	<-s.turn
	defer s.give()
	if s.standIn != nil {
		return s.standIn.Section()
	}
	return stage.Section{Name: s.section.Name, Version: s.section.Version, Save: s.save, Load: s.load}
}

// save writes the state after the last answer; the plugin is asked only where it
// did not come with the answer.
func (s *sampler) save(w io.Writer) error {
	<-s.turn
	defer s.give()
	if s.seed != nil || len(s.from.draws) > 0 || s.from.version != s.section.Version {
		err := s.call(s.sup.life, "saved its state", s.keep)
		if err == nil && s.standIn != nil {
			err = fmt.Errorf("section %s: its state is lost: %s has taken the plugin's place", s.section.Name, s.standIn.Name())
		}
		if err != nil {
			return err
		}
	}
	_, err := w.Write(s.from.state)
	return err
}

// keep makes the plugin's present state the point to go on from.
func (s *sampler) keep(client *api.Sampler) error {
	var state bytes.Buffer
	section := client.Section()
	if err := section.Save(&state); err != nil {
		return err
	}
	s.from = point{version: section.Version, state: state.Bytes()}
	return nil
}

func (s *sampler) load(r io.Reader, version int) error {
	data, err := io.ReadAll(io.LimitReader(r, api.MaxState+1))
	if err != nil {
		return err
	}
	<-s.turn
	defer s.give()
	err = s.call(s.sup.life, "loaded a state", func(client *api.Sampler) error {
		return client.Section().Load(bytes.NewReader(data), version)
	})
	if err == nil && s.standIn == nil {
		s.from = point{version: version, state: data}
	}
	if err == nil && s.standIn != nil {
		err = fmt.Errorf("section %s: %s has taken the plugin's place", s.section.Name, s.standIn.Name())
	}
	return err
}

// stop ends the stage and its process.
func (s *sampler) stop() error {
	s.sup.end() // ends the call that is under way
	<-s.turn
	defer s.give()
	return s.sup.close()
}
