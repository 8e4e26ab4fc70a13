package plugintest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// save returns what the sampler's section writes.
func save(s stage.Sampler) ([]byte, error) {
	var b bytes.Buffer
	if err := s.Section().Save(&b); err != nil {
		return nil, fmt.Errorf("save: %w", err)
	}
	return b.Bytes(), nil
}

// unchanged runs fn and fails where the sampler's state is another one after it.
func unchanged(s stage.Sampler, fn func() error) error {
	before, err := save(s)
	if err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	after, err := save(s)
	if err == nil && !bytes.Equal(before, after) {
		err = fmt.Errorf("the state changed from %d bytes %.32x to %d bytes %.32x", len(before), before, len(after), after)
	}
	return err
}

// saves looks at the section's name and saves twice.
func (p *sampling) saves(st Stage) error {
	seedSampler(st.Sampler, p.seed, 3)
	name := st.Sampler.Section().Name
	fit := name != "" && len(name) <= 64
	for _, r := range name {
		fit = fit && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-')
	}
	if !fit {
		return fmt.Errorf("section name %q: want up to 64 of a-z, 0-9, _, . and -", name)
	}
	if _, err := p.make1(st.Sampler, p.draws[0]); err != nil {
		return err
	}
	return unchanged(st.Sampler, func() error { return nil })
}

// resumes saves in the middle of the draws, loads the state into another
// instance, which has drawn something else before, and compares how both go on.
func (p *sampling) resumes() error {
	for _, half := range []int{0, 6, 9, 13} {
		err := p.with(func(st Stage) error {
			seedSampler(st.Sampler, p.seed, 4)
			for i, d := range p.draws[:half] {
				if _, err := p.make1(st.Sampler, d); err != nil {
					return fmt.Errorf("draw %d: %w", i, err)
				}
			}
			state, err := save(st.Sampler)
			if err != nil {
				return err
			}
			version := st.Sampler.Section().Version
			want, err := p.makeAll(st.Sampler, half)
			if err != nil {
				return err
			}
			return p.with(func(other Stage) error { return p.goesOn(other, state, version, want, half) })
		})
		if err != nil {
			return fmt.Errorf("state of draw %d: %w", half, err)
		}
	}
	return nil
}

// goesOn loads a state into an instance with a history of its own.
func (p *sampling) goesOn(st Stage, state []byte, version int, want [][]stage.RowRef, half int) error {
	seedSampler(st.Sampler, p.seed+1, 5)
	if _, err := p.make1(st.Sampler, p.draws[2]); err != nil {
		return err
	}
	if err := st.Sampler.Section().Load(bytes.NewReader(state), version); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if loaded, err := save(st.Sampler); err != nil || !bytes.Equal(loaded, state) {
		return fmt.Errorf("%d bytes were loaded, %d others are saved: %v", len(state), len(loaded), err)
	}
	got, err := p.makeAll(st.Sampler, half)
	if err != nil {
		return err
	}
	return compareDraws(got, want, half)
}

// offer is a state that is none.
type offer struct {
	what    string
	data    []byte
	version int
}

// foreign offers states that are none.
func (p *sampling) foreign(st Stage) error {
	seedSampler(st.Sampler, p.seed, 6)
	if _, err := p.make1(st.Sampler, p.draws[0]); err != nil {
		return err
	}
	state, err := save(st.Sampler)
	if err != nil {
		return err
	}
	version := st.Sampler.Section().Version
	offers := []offer{
		{"a later version", state, version + 1},
		{"noise", []byte("\xff\x00\xfeno state\x80"), version},
	}
	if len(state) > 0 {
		offers = append(offers, offer{"a state without its last byte", state[:len(state)-1], version}, offer{"no bytes", nil, version})
	}
	for _, o := range offers {
		err := unchanged(st.Sampler, func() error {
			if err := st.Sampler.Section().Load(bytes.NewReader(o.data), o.version); err == nil {
				return errors.New("it was loaded")
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", o.what, err)
		}
	}
	_, err = p.make1(st.Sampler, p.draws[1])
	return err
}
