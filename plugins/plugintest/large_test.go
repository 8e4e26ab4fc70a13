package plugintest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// bulkyEnv makes the test binary serve bulky.
const bulkyEnv = "PLUGINTEST_BULKY"

// bulk is what bulky adds to its state: far beyond gRPC's own limit of 4 MiB for
// a message.
const bulk = 20 << 20

// bulky is sampleRows with a large state.
var bulky = samplerOf(func() stage.Sampler {
	pad := bytes.Repeat([]byte{7}, bulk)
	return sampleFunc(func(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
		if len(d.State) > 0 {
			var ok bool
			if d.State, ok = bytes.CutPrefix(d.State, pad); !ok {
				return dst, nil, errors.New("the padding is another one")
			}
		}
		dst, state, err := sampleRows(ctx, d, dst)
		return dst, append(bytes.Clone(pad), state...), err
	})
})

// TestLargeMessages draws from a state of 20 MiB through a program that the SDK
// serves: messages of that size pass in both directions.
func TestLargeMessages(t *testing.T) {
	h := newHost(t, selfIn(t, bulky.Name), bulkyEnv+"=1")
	p := &sampling{suite: &suite{ctx: t.Context(), s: Hosted(h, bulky, nil)}, draws: makeDraws(freshSeed(t))[:4]}
	err := p.with(func(st Stage) error {
		c := p.from(st.Sampler, 1)
		if _, err := p.make1(c, p.draws[0]); err != nil {
			return err
		}
		if at := len(c.at.State); at < bulk {
			t.Errorf("a state of %d bytes, want more than %d", at, bulk)
		}
		at := c.at
		want, err := p.makeAll(c, 1)
		if err != nil {
			return err
		}
		return p.with(func(other Stage) error { return p.goesOn(other, at, want, 1) })
	})
	if err != nil {
		t.Error(err)
	}
}
