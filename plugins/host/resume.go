package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// maxDraws is how many draws are made again at most when a process takes over a
// state that does not come with each answer.
const maxDraws = 32

// point says how to bring a process to where the last one was: the last state
// that is known, and the draws since then.
type point struct {
	version int
	state   []byte
	draws   []draw
}

// draw is one answered call of Sample. The index is kept alive by it.
type draw struct {
	idx stage.Index
	n   int
}

// ready makes sure that a process runs and is where the last answer left it.
// Errors are those of supervisor.process.
func (s *sampler) ready(ctx context.Context) error {
	for {
		proc, err := s.sup.process(ctx)
		if err != nil {
			return err
		}
		if s.client != nil && proc == s.of && !s.stale && s.seed == nil && len(s.from.draws) < maxDraws {
			return nil
		}
		d := s.sup.deadline()
		err = s.bring(proc, d)
		if err == nil && !d.hung.Load() {
			return nil
		}
		if usable := s.sup.usable(ctx); usable != nil {
			return usable
		}
		s.client = nil
		s.sup.fail(s.sup.failure(d, "took over the last state", err))
	}
}

// bring makes a client of proc where there is none, and brings the plugin to
// where it should be.
func (s *sampler) bring(proc *process, d *deadline) error {
	first := s.of == nil
	if s.client == nil || proc != s.of {
		err := d.call(func() error {
			client, err := api.NewSampler(s.sup.life, proc.conn, proc.def)
			if err == nil {
				s.client = client.(*api.Sampler)
			}
			return err
		})
		if err != nil {
			return err
		}
		s.of, s.stale = proc, !first
	}
	if s.stale {
		if err := s.repeat(d); err != nil {
			return err
		}
		s.stale = false
	}
	if !first && s.seed == nil && len(s.from.draws) < maxDraws {
		return nil
	}
	err := d.call(func() error {
		if s.seed != nil {
			s.client.Seed(s.seed[0], s.seed[1]) // its error comes from keep
		}
		return s.keep(s.client)
	})
	if err == nil {
		s.seed = nil
	}
	return err
}

// repeat does again what led to s.from.
func (s *sampler) repeat(d *deadline) error {
	err := d.call(func() error {
		return s.client.Section().Load(bytes.NewReader(s.from.state), s.from.version)
	})
	if err != nil {
		return err
	}
	for _, again := range s.from.draws {
		err := d.call(func() error {
			_, err := s.client.Sample(s.sup.life, again.idx, again.n, nil)
			return err
		})
		if err != nil && !ofStage(err) {
			return err
		}
	}
	return nil
}

// replace puts the built-in sampler uniform in the place of a plugin that was
// given up, where the options say so. Else it returns err.
func (s *sampler) replace(err error) error {
	if !errors.Is(err, ErrGivenUp) || !s.sup.h.o.Continue {
		return err
	}
	d, findErr := stage.Find(s.sup.h.o.Builtin, stage.KindSampler, "uniform")
	if findErr != nil {
		return errors.Join(err, findErr)
	}
	standIn, makeErr := d.MakeSampler(nil)
	if makeErr != nil {
		return errors.Join(err, makeErr)
	}
	if seeder, ok := standIn.(stage.Seeder); ok && s.seeded != nil {
		seeder.Seed(s.seeded[0], s.seeded[1])
	}
	s.standIn = standIn
	s.sup.tell(slog.LevelError, Replaced, "the built-in sampler uniform takes its place")
	return nil
}
