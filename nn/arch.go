package nn

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrArch is wrapped by every error about an architecture.
var ErrArch = errors.New("net architecture")

// ArchVersion is the version of Arch that this build writes and reads.
const ArchVersion = 1

// Choices of Arch's string fields.
const (
	ReLU = "relu"
	Mish = "mish"

	PolicyConvolutional = "convolutional" // 80 planes, of which 73 are gathered to the 1858 moves
	PolicyClassical     = "classical"     // one fully connected layer to the 1858 moves

	ValueWDL    = "wdl"    // win, draw, loss logits
	ValueScalar = "scalar" // one number, tanh
)

// Fixed sizes of the heads.
const (
	PolicyPlanes      = 80 // outputs of the convolutional policy head per square
	ClassicalChannels = 32 // channels of the classical policy head's 1x1 convolution

	// minSEUnits is the least number of squeeze-and-excitation units.
	minSEUnits = 8
)

// Arch describes a net. It is a comparable value; its JSON form is canonical
// (fixed field order, no fields of heads that are absent).
type Arch struct {
	Version       int    `json:"version"`
	Filters       int    `json:"filters"`      // channels of the tower
	Blocks        int    `json:"blocks"`       // residual blocks of two 3x3 convolutions
	SERatio       int    `json:"se_ratio"`     // SE units = max(8, Filters/SERatio); 0 = no squeeze-and-excitation
	Activation    string `json:"activation"`   // ReLU or Mish, everywhere but at the outputs
	InputFormat   int    `json:"input_format"` // 1 = the classical 112 planes
	PolicyHead    string `json:"policy_head"`  // PolicyConvolutional or PolicyClassical
	ValueHead     string `json:"value_head"`   // ValueWDL or ValueScalar
	ValueChannels int    `json:"value_channels"`
	ValueHidden   int    `json:"value_hidden"`
	MovesLeft     bool   `json:"moves_left"` // whether the net tells the plies left
	MLChannels    int    `json:"moves_left_channels,omitempty"`
	MLHidden      int    `json:"moves_left_hidden,omitempty"`
}

// DefaultArch returns the default net: 32 filters, 4 blocks, SE, convolutional
// policy, WDL value, moves left.
func DefaultArch() Arch { return towerArch(32, 4) }

func towerArch(filters, blocks int) Arch {
	return Arch{
		Version: ArchVersion, Filters: filters, Blocks: blocks, SERatio: 4,
		Activation: ReLU, InputFormat: 1,
		PolicyHead: PolicyConvolutional,
		ValueHead:  ValueWDL, ValueChannels: 32, ValueHidden: 128,
		MovesLeft: true, MLChannels: 8, MLHidden: 128,
	}
}

// MarshalJSON returns the canonical JSON.
func (a Arch) MarshalJSON() ([]byte, error) {
	if !a.MovesLeft {
		a.MLChannels, a.MLHidden = 0, 0
	}
	type plain Arch // without this method
	return json.Marshal(plain(a))
}

// SEUnits returns the units of the squeeze-and-excitation layers: Filters/SERatio,
// at least 8; 0 where there are none.
func (a Arch) SEUnits() int {
	if a.SERatio <= 0 {
		return 0
	}
	return max(minSEUnits, a.Filters/a.SERatio)
}

// ValueOutputs returns the outputs of the value head: 3 (win, draw, loss) or 1.
func (a Arch) ValueOutputs() int {
	if a.ValueHead == ValueScalar {
		return 1
	}
	return 3
}

// Validate returns all that is wrong with a, wrapping ErrArch, or nil.
func (a Arch) Validate() error {
	var bad []error
	number := func(field string, v, lo, hi int) {
		if v < lo || v > hi {
			bad = append(bad, fmt.Errorf("%w: %s is %d, want %d to %d", ErrArch, field, v, lo, hi))
		}
	}
	choice := func(field, v string, want ...string) {
		if !slices.Contains(want, v) {
			bad = append(bad, fmt.Errorf("%w: %s is %q, want one of %q", ErrArch, field, v, want))
		}
	}
	if a.Version != ArchVersion {
		bad = append(bad, fmt.Errorf("%w: version is %d, this build knows %d", ErrArch, a.Version, ArchVersion))
	}
	number("filters", a.Filters, 1, 2048)
	number("blocks", a.Blocks, 1, 256)
	number("se_ratio", a.SERatio, 0, 2048)
	choice("activation", a.Activation, ReLU, Mish)
	if a.InputFormat != 1 {
		bad = append(bad, fmt.Errorf("%w: input_format is %d, only 1 (classical) is in this build", ErrArch, a.InputFormat))
	}
	choice("policy_head", a.PolicyHead, PolicyConvolutional, PolicyClassical)
	choice("value_head", a.ValueHead, ValueWDL, ValueScalar)
	number("value_channels", a.ValueChannels, 1, 1024)
	number("value_hidden", a.ValueHidden, 1, 4096)
	if a.MovesLeft {
		number("moves_left_channels", a.MLChannels, 1, 1024)
		number("moves_left_hidden", a.MLHidden, 1, 4096)
	}
	return errors.Join(bad...)
}

// NumParams returns the number of trained parameters (running means and
// variances are not trained).
func (a Arch) NumParams() int {
	n := 0
	for _, s := range Specs(a) {
		if s.Kind.Trained() {
			n += s.Len()
		}
	}
	return n
}

// FLOPs returns the nominal operations of one board's forward pass, two per
// multiply-add of every convolution and fully connected layer; taps that fall
// off the board are counted.
func (a Arch) FLOPs() int64 {
	n := int64(0)
	for _, s := range Specs(a) {
		if s.Kind != Weight {
			continue
		}
		size := 2 * int64(s.Len())
		if len(s.Shape) == 4 {
			size *= 64
		}
		n += size
	}
	return n
}

// Summary returns one line for the user: name, size and cost.
func (a Arch) Summary() string {
	mega := func(x float64) string {
		digits := max(0, 1-int(math.Floor(math.Log10(x))))
		return fmt.Sprintf("%.*f", digits, x)
	}
	return fmt.Sprintf("%s: %s million parameters, %s MFLOP per board",
		a, mega(float64(a.NumParams())/1e6), mega(float64(a.FLOPs())/1e6))
}
