package host

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// sampler is a plugin's sampler under supervision. After the death of a process the
// next one makes the draw that was under way: it is a function of what the caller
// gave. Safe for concurrent use; calls take turns.
type sampler struct {
	*supervisor
	standIn atomic.Pointer[stage.Sampler] // in the place of a plugin that was given up; nil = none

	// The rest belongs to whoever has the turn.
	client *api.Sampler
	of     *process // whose client it is
}

// Name returns the stage's name, or that of the sampler that took its place.
func (s *sampler) Name() string {
	if other := s.standIn.Load(); other != nil {
		return (*other).Name()
	}
	return s.name
}

// Sample appends d.Rows rows to dst. An error is the stage's own, such as one about an
// index without rows, or that of ctx, or ErrGivenUp, or ErrClosed.
func (s *sampler) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if err := s.take(ctx); err != nil {
		return dst, nil, err
	}
	defer s.give()
	if other := s.standIn.Load(); other != nil {
		return (*other).Sample(ctx, d, dst)
	}
	rows, state, err := s.draw(ctx, d, dst)
	if !errors.Is(err, ErrGivenUp) || !s.h.o.Continue {
		return rows, state, err
	}
	other, replaceErr := s.replace()
	if replaceErr != nil {
		return dst, nil, errors.Join(err, replaceErr)
	}
	d.State = nil // the plugin's
	return other.Sample(ctx, d, dst)
}

// draw asks the plugin again and again until it answers, or is given up.
func (s *sampler) draw(ctx context.Context, d stage.Draw, dst []stage.RowRef) (rows []stage.RowRef, state []byte, err error) {
	for {
		proc, err := s.process(ctx)
		if err != nil {
			return dst, nil, err
		}
		if s.of != proc {
			s.client, s.of = api.NewSampler(s.life, proc.conn, proc.def), proc
		}
		limit, begun := s.deadline(), time.Now()
		err = limit.call(func() (err error) {
			rows, state, err = s.client.Sample(ctx, d, dst)
			return err
		})
		if usable := s.usable(ctx); err != nil && usable != nil {
			return dst, nil, usable
		}
		if (err == nil || ofStage(err)) && !limit.hung.Load() {
			s.succeeded()
			if err != nil {
				return dst, nil, &Error{Kind: s.kind, Name: s.name, Did: "refused the call", Err: err}
			}
			s.answered(0, d.Rows, 0, time.Since(begun))
			return rows, state, nil
		}
		s.fail(s.failure(limit, "drew rows", err))
	}
}

// ofStage says that err is what the stage itself answered.
func ofStage(err error) bool {
	if _, isCall := status.FromError(err); isCall {
		return status.Code(err) == codes.InvalidArgument
	}
	return !errors.Is(err, api.ErrAnswer)
}

// replace puts the built-in sampler uniform in the place of a plugin that was given up.
func (s *sampler) replace() (stage.Sampler, error) {
	d, err := stage.Find(s.h.o.Builtin, stage.KindSampler, "uniform")
	if err != nil {
		return nil, err
	}
	other, err := d.MakeSampler(nil)
	if err != nil {
		return nil, err
	}
	s.standIn.Store(&other)
	s.tell(slog.LevelError, Replaced, "the built-in sampler uniform takes its place")
	return other, nil
}
