package plugintest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// bulkyEnv makes the test binary serve bulky.
const bulkyEnv = "PLUGINTEST_BULKY"

// bulk is what bulky adds to its state: far beyond gRPC's own limit of 4 MiB for
// a message.
const bulk = 20 << 20

// bulky is rowSampler with a large state.
var bulky = samplerOf(func() stage.Sampler {
	s := newRowSampler()
	s.save = func(s *rowSampler, w io.Writer) error {
		if _, err := w.Write(bytes.Repeat([]byte{7}, bulk)); err != nil {
			return err
		}
		return saveRows(s, w)
	}
	s.load = func(s *rowSampler, r io.Reader, version int) error {
		pad := make([]byte, bulk)
		if _, err := io.ReadFull(r, pad); err != nil {
			return err
		}
		if pad[bulk-1] != 7 {
			return errors.New("the padding is another one")
		}
		return loadRows(s, r, version)
	}
	return s
})

// TestLargeMessages saves and loads a state of 20 MiB through a program that the
// SDK serves: messages of that size pass in both directions.
func TestLargeMessages(t *testing.T) {
	h := newHost(t, selfIn(t, bulky.Name), bulkyEnv+"=1")
	p := &sampling{suite: &suite{ctx: t.Context(), s: Hosted(h, bulky, nil)}, draws: makeDraws(freshSeed(t))[:4]}
	err := p.with(func(st Stage) error {
		if _, err := p.makeAll(st.Sampler, 0); err != nil {
			return err
		}
		state, err := save(st.Sampler)
		if err != nil {
			return err
		}
		if len(state) < bulk {
			t.Errorf("a state of %d bytes was saved, want more than %d", len(state), bulk)
		}
		want, err := p.makeAll(st.Sampler, 1)
		if err != nil {
			return err
		}
		return p.with(func(other Stage) error { return p.goesOn(other, state, 3, want, 1) })
	})
	if err != nil {
		t.Error(err)
	}
}
