package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
)

// Versions of an architecture's JSON. Version 1 is flat: one body, and a fixed set of
// heads. It is written for every net that it can say, so that files keep their bytes;
// version 2 is the lists of Arch.
const (
	flatVersion = 1
	listVersion = 2
)

// flatArch is version 1. The order of the fields is that of the text; what is 0 or ""
// in a tower or a sparse net is absent there.
type flatArch struct {
	Version       int    `json:"version"`
	Body          string `json:"body,omitempty"` // "" = a tower, or BlockSparse
	Accumulators  int    `json:"accumulators,omitempty"`
	Filters       int    `json:"filters,omitempty"`
	Blocks        int    `json:"blocks,omitempty"` // residual ones
	SERatio       *int   `json:"se_ratio,omitempty"`
	Activation    string `json:"activation,omitempty"`
	InputFormat   int    `json:"input_format,omitempty"`
	PolicyHead    string `json:"policy_head,omitempty"`
	ValueHead     string `json:"value_head"` // its form
	ValueChannels int    `json:"value_channels,omitempty"`
	ValueHidden   int    `json:"value_hidden"`
	PolicyUnits   int    `json:"policy_units,omitempty"`
	MovesLeft     bool   `json:"moves_left"`
	MLChannels    int    `json:"moves_left_channels,omitempty"`
	MLHidden      int    `json:"moves_left_hidden,omitempty"`
}

// listArch is version 2.
type listArch struct {
	Version int `json:"version"`
	plainArch
}

// plainArch has the fields of Arch without its methods.
type plainArch Arch

// MarshalJSON returns the canonical JSON: version 1 where it can say what a is.
func (a Arch) MarshalJSON() ([]byte, error) {
	if f := a.flat(); f.arch().Equal(a) {
		return json.Marshal(f)
	}
	return json.Marshal(listArch{listVersion, plainArch(a)})
}

// UnmarshalJSON reads either version. It refuses fields that it does not know, and of
// version 1 those that the body does not have; Validate is the caller's. Errors wrap
// ErrArch.
func (a *Arch) UnmarshalJSON(text []byte) error {
	var v struct{ Version int }
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("%w: %w", ErrArch, err)
	}
	switch v.Version {
	case flatVersion:
		var f flatArch
		if err := strict(text, &f); err != nil {
			return err
		}
		return f.read(a)
	case listVersion:
		var l listArch
		if err := strict(text, &l); err != nil {
			return err
		}
		*a = Arch(l.plainArch)
		return nil
	}
	return fmt.Errorf("%w: version is %d, this build knows %d and %d", ErrArch, v.Version, flatVersion, listVersion)
}

// strict decodes an object that has no fields but those of x.
func strict(text []byte, x any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(x); err != nil {
		return fmt.Errorf("%w: %w", ErrArch, err)
	}
	return nil
}

// flat returns version 1 of a, as far as that goes.
func (a Arch) flat() flatArch {
	f := flatArch{Version: flatVersion}
	for _, b := range a.Blocks {
		switch b.Kind {
		case BlockInput:
			f.Filters, f.InputFormat, f.Activation = b.Width, b.InputFormat, a.Activation
		case BlockResidual:
			f.Blocks++
			f.SERatio = &b.SERatio
		case BlockSparse:
			f.Body, f.Accumulators = b.Kind, b.Width
		}
	}
	for _, h := range a.Heads {
		switch {
		case h.Name != "" || h.Output == Auxiliary: // version 1 has none
		case h.Output == Value:
			f.ValueHead, f.ValueChannels, f.ValueHidden = h.Form, h.Channels, h.Hidden
		case h.Output == MovesLeft:
			f.MovesLeft, f.MLChannels, f.MLHidden = true, h.Channels, h.Hidden
		case h.Kind == PolicyMoves:
			f.PolicyUnits = h.Hidden
		default:
			f.PolicyHead = h.Kind
		}
	}
	return f
}

// arch returns the architecture of version 1.
func (f *flatArch) arch() (a Arch) {
	if f.Body == BlockSparse {
		a = SparseArch(f.Accumulators)
		a.Blocks[0].Features = int(encoding.SparseAttacks)
		a.Head(Policy).Hidden = f.PolicyUnits
	} else {
		a = Tower(f.Filters, f.Blocks)
		a.Activation, a.Blocks[0].InputFormat, a.Head(Policy).Kind = f.Activation, f.InputFormat, f.PolicyHead
		if a.setSE(0); f.SERatio != nil {
			a.setSE(*f.SERatio)
		}
	}
	value, moves := a.Head(Value), a.Head(MovesLeft)
	value.Form, value.Channels, value.Hidden = f.ValueHead, f.ValueChannels, f.ValueHidden
	moves.Channels, moves.Hidden = f.MLChannels, f.MLHidden
	if !f.MovesLeft {
		a.Heads = a.Heads[:2]
	}
	return a
}

// read sets a. It refuses a body that there is not, the fields of another body, and more
// blocks than a net may have, which the list would have no room for.
func (f *flatArch) read(a *Arch) error {
	var c checker
	c.choice("body", f.Body, []string{"", BlockSparse})
	if f.Body == "" {
		c.number("blocks", f.Blocks, 1, maxBlocks)
	}
	if len(c.errs) > 0 {
		return errors.Join(c.errs...)
	}
	if !f.MovesLeft { // its sizes say nothing
		f.MLChannels, f.MLHidden = 0, 0
	}
	*a = f.arch()
	said, read := *f, a.flat()
	hasSE := said.SERatio != nil && *said.SERatio != 0
	said.SERatio, read.SERatio = nil, nil
	if said != read || hasSE && f.Body != "" {
		return fmt.Errorf("%w: %s is said to have fields of another body: a sparse net has no fields of a tower, and a tower none of its", ErrArch, a)
	}
	return nil
}
