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
	BodyTower  = ""       // Leela's residual tower, with heads of convolutions
	BodySparse = "sparse" // sums of the rows of a table that the position's features name

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

	// SparseBlock is what the widths of a sparse net are multiples of.
	SparseBlock = 64
)

// Arch describes a net. It is a comparable value; its JSON form is canonical
// (fixed field order, no fields of bodies and heads that are absent).
type Arch struct {
	Version       int    `json:"version"`
	Body          string `json:"body,omitempty"` // BodyTower or BodySparse
	Filters       int    `json:"filters"`        // channels of the tower
	Blocks        int    `json:"blocks"`         // residual blocks of two 3x3 convolutions
	SERatio       int    `json:"se_ratio"`       // SE units = max(8, Filters/SERatio); 0 = no squeeze-and-excitation
	Activation    string `json:"activation"`     // ReLU or Mish, everywhere but at the outputs
	InputFormat   int    `json:"input_format"`   // 1 = the classical 112 planes
	PolicyHead    string `json:"policy_head"`    // PolicyConvolutional or PolicyClassical
	ValueHead     string `json:"value_head"`     // ValueWDL or ValueScalar
	ValueChannels int    `json:"value_channels"`
	ValueHidden   int    `json:"value_hidden"`
	MovesLeft     bool   `json:"moves_left"` // whether the net tells the plies left
	MLChannels    int    `json:"moves_left_channels,omitempty"`
	MLHidden      int    `json:"moves_left_hidden,omitempty"`

	// The sizes of a sparse net, which has of the fields above ValueHead (ValueWDL),
	// ValueHidden and MovesLeft alone.
	Accumulators int `json:"accumulators,omitempty"` // of each side's view of the position
	PolicyUnits  int `json:"policy_units,omitempty"` // units that a move's row is multiplied with
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

// Sparse reports whether the body is BodySparse.
func (a Arch) Sparse() bool { return a.Body == BodySparse }

// MustBeTower refuses a sparse net for what holds or computes towers alone, such as "a
// Leela network file", and names the way from one to the other. Errors wrap ErrArch.
func (a Arch) MustBeTower(where string) error {
	if !a.Sparse() {
		return nil
	}
	return fmt.Errorf("%w: %s is a sparse net, for CPUs and this program alone; %s takes a tower such as 64x6: "+
		"train one on the sparse net's games, with chessbrain train --net 64x6 --source dir", ErrArch, a, where)
}

// SparseArch returns a sparse net with the usual heads.
func SparseArch(accumulators int) Arch {
	return Arch{Version: ArchVersion, Body: BodySparse, Accumulators: accumulators, ValueHead: ValueWDL, ValueHidden: 32, PolicyUnits: 64, MovesLeft: true}
}

// MarshalJSON returns the canonical JSON.
func (a Arch) MarshalJSON() ([]byte, error) {
	if a.Sparse() {
		return json.Marshal(struct {
			Version      int    `json:"version"`
			Body         string `json:"body"`
			Accumulators int    `json:"accumulators"`
			ValueHead    string `json:"value_head"`
			ValueHidden  int    `json:"value_hidden"`
			PolicyUnits  int    `json:"policy_units"`
			MovesLeft    bool   `json:"moves_left"`
		}{a.Version, a.Body, a.Accumulators, a.ValueHead, a.ValueHidden, a.PolicyUnits, a.MovesLeft})
	}
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
	choice("body", a.Body, BodyTower, BodySparse)
	if a.Sparse() {
		number("accumulators", a.Accumulators, SparseBlock, 2048)
		number("policy_units", a.PolicyUnits, SparseBlock, 512)
		for _, n := range []int{a.Accumulators, a.PolicyUnits} {
			if n%SparseBlock != 0 {
				bad = append(bad, fmt.Errorf("%w: a sparse net's widths are multiples of %d, not %d", ErrArch, SparseBlock, n))
			}
		}
		number("value_hidden", a.ValueHidden, 1, 512)
		choice("value_head", a.ValueHead, ValueWDL)
		if same := (Arch{Version: a.Version, Body: a.Body, Accumulators: a.Accumulators, ValueHead: a.ValueHead, ValueHidden: a.ValueHidden,
			PolicyUnits: a.PolicyUnits, MovesLeft: a.MovesLeft}); a != same {
			bad = append(bad, fmt.Errorf("%w: a sparse net has no fields of a tower", ErrArch))
		}
		return errors.Join(bad...)
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
	if a.Accumulators != 0 || a.PolicyUnits != 0 {
		bad = append(bad, fmt.Errorf("%w: accumulators and policy_units belong to a sparse net", ErrArch))
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

// Men and legal moves of a usual position, by which a sparse net's cost is told.
const (
	usualMen   = 24
	usualMoves = 32
)

// FLOPs returns the nominal operations of one board's forward pass, two per
// multiply-add of every convolution and fully connected layer; taps that fall
// off the board are counted. A sparse net's are those of 24 men and 32 legal moves.
func (a Arch) FLOPs() int64 {
	if a.Sparse() {
		dense := 2*a.Accumulators*(a.ValueHidden+a.PolicyUnits) + 4*a.ValueHidden
		return 2 * int64(2*usualMen*a.Accumulators+dense+2*usualMoves*a.PolicyUnits)
	}
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
