package plugintest

import (
	"bytes"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// look asks whether a state is one of the sampler's and returns it as it comes back.
func (p *sampling) look(s stage.Sampler, state []byte) ([]byte, error) {
	refs, again, err := s.Sample(p.ctx, stage.Draw{State: state}, nil)
	if err == nil && len(refs) > 0 {
		err = fmt.Errorf("%d rows came with it", len(refs))
	}
	return again, err
}

// looks looks at a state.
func (p *sampling) looks(st Stage) error {
	c := p.from(st.Sampler, 3)
	if _, err := p.make1(c, p.draws[0]); err != nil {
		return err
	}
	again, err := p.look(c, c.at.State)
	if err == nil && !bytes.Equal(again, c.at.State) {
		err = fmt.Errorf("the state changed from %d bytes %.32x to %d bytes %.32x", len(c.at.State), c.at.State, len(again), again)
	}
	return err
}

// resumes keeps the state in the middle of the draws, and compares how the instance
// goes on from it with another one, which has drawn something else before, and with
// itself once more.
func (p *sampling) resumes() error {
	for _, half := range []int{0, 6, 9, 13} {
		err := p.with(func(st Stage) error {
			c := p.from(st.Sampler, 4)
			for i, d := range p.draws[:half] {
				if _, err := p.make1(c, d); err != nil {
					return fmt.Errorf("draw %d: %w", i, err)
				}
			}
			at := c.at
			want, err := p.makeAll(c, half)
			if err != nil {
				return err
			}
			if err := p.goesOn(st, at, want, half); err != nil {
				return fmt.Errorf("the same instance: %w", err)
			}
			return p.with(func(other Stage) error { return p.goesOn(other, at, want, half) })
		})
		if err != nil {
			return fmt.Errorf("state of draw %d: %w", half, err)
		}
	}
	return nil
}

// goesOn draws from a state with an instance that has a history of its own.
func (p *sampling) goesOn(st Stage, at stage.Draw, want [][]stage.RowRef, half int) error {
	if _, err := p.make1(p.from(st.Sampler, 5), p.draws[2]); err != nil {
		return err
	}
	got, err := p.makeAll(&chain{st.Sampler, at}, half)
	if err != nil {
		return err
	}
	return compareDraws(got, want, half)
}

// foreign offers states that are none.
func (p *sampling) foreign(st Stage) error {
	c := p.from(st.Sampler, 6)
	if _, err := p.make1(c, p.draws[0]); err != nil {
		return err
	}
	offers := map[string][]byte{"noise": []byte("\xff\x00\xfeno state\x80")}
	if n := len(c.at.State); n > 1 {
		offers["a state without its last byte"] = c.at.State[:n-1]
	}
	for what, state := range offers {
		if _, err := p.look(c, state); err == nil {
			return fmt.Errorf("%s: it was taken", what)
		}
	}
	_, err := p.make1(c, p.draws[1])
	return err
}
