package lc0

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

func recordError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorruptRecord}, args...)...)
}

const (
	// sumTolerance bounds the distance of a policy's sum from 1, as lc0 has it.
	sumTolerance = 0.01
	// winTolerance is how far win and loss probabilities may round below 0.
	winTolerance = 1e-5
	maxRule50    = 100
)

// valueRange is what one float32 of a record may be, by its name in Leela's struct.
type valueRange struct {
	name      string
	low, high float32
	nan       bool // NaN = not known is allowed in every version
}

func (f *valueRange) check(x float32) error {
	if !(x >= f.low && x <= f.high) && !(f.nan && x != x) {
		return recordError("%s is %v, want %v to %v", f.name, x, f.low, f.high)
	}
	return nil
}

// valueRanges are those of the float32 fields that lie behind each other, in the
// order of the file. A version has the first numValues of them; the result of those
// up to 5 is a byte.
var valueRanges = [15]valueRange{
	{"root_q", -1, 1, false},
	{"best_q", -1, 1, false},
	{"root_d", 0, 1, false},
	{"best_d", 0, 1, false},
	{"root_m", 0, math.MaxFloat32, false},
	{"best_m", 0, math.MaxFloat32, false},
	{"plies_left", 0, math.MaxFloat32, false},
	{"result_q", -1, 1, false},
	{"result_d", 0, 1, false},
	{"played_q", -1, 1, false},
	{"played_d", 0, 1, false},
	{"played_m", 0, math.MaxFloat32, false},
	{"orig_q", -1, 1, true},
	{"orig_d", 0, 1, true},
	{"orig_m", 0, math.MaxFloat32, true},
}

// values lists the fields of valueRanges.
func (r *Record) values() [15]*float32 {
	return [15]*float32{&r.Root.Q, &r.Best.Q, &r.Root.D, &r.Best.D, &r.Root.M, &r.Best.M, &r.PliesLeft, &r.ResultQ, &r.ResultD,
		&r.Played.Q, &r.Played.D, &r.Played.M, &r.Orig.Q, &r.Orig.D, &r.Orig.M}
}

// check reports the first field that no record can hold; s is of its policy.
func (r *Record) check(s *policyScan) error {
	if !knownFormat(r.InputFormat) {
		return recordError("input_format is %d, known are 1 to 5, 132 and 133", r.InputFormat)
	}
	err := cmp.Or(checkPosition(r.InputFormat, r.Castling, r.SideOrEP, r.Rule50), r.checkPolicy(s))
	if err != nil {
		return err
	}
	for i, v := range r.values() {
		if i == numValues[r.version()] {
			break
		}
		if err := valueRanges[i].check(*v); err != nil {
			return err
		}
	}
	for _, v := range []struct {
		name string
		encoding.QDM
	}{{"root", r.Root}, {"best", r.Best}, {"played", r.Played}, {"orig", r.Orig}} {
		if w, _, l := v.WDL(); w < -winTolerance || l < -winTolerance {
			return recordError("%s_q %v and %s_d %v leave a negative win or loss probability", v.name, v.Q, v.name, v.D)
		}
	}
	return r.checkShortTerm()
}

// checkShortTerm checks what follows the indices, from version 6 on.
func (r *Record) checkShortTerm() error {
	version := r.version()
	if version < v6Version {
		return nil
	}
	late := version == v7Version
	err := cmp.Or((&valueRange{"policy_kld", 0, math.MaxFloat32, false}).check(r.PolicyKLD),
		(&valueRange{"q_st", -1, 1, late}).check(r.QST))
	if err != nil || !late {
		return err
	}
	if err := (&valueRange{"d_st", 0, 1, true}).check(r.DST); err != nil {
		return err
	}
	for i, idx := range [2]uint16{r.OppPlayedIdx, r.NextPlayedIdx} {
		if idx >= encoding.NumPolicy && idx != encoding.NoPolicyIndex {
			name := [2]string{"opp_played_idx", "next_played_idx"}[i]
			return recordError("%s is %d, want less than %d, or %d", name, idx, encoding.NumPolicy, encoding.NoPolicyIndex)
		}
	}
	return nil
}

// checkPosition checks what stands behind the planes.
func checkPosition(format uint32, castling [4]uint8, sideOrEP, rule50 uint8) error {
	for i, c := range castling {
		if format == formatClassical && c > 1 || bits.OnesCount8(c) > 1 {
			return recordError("castling byte %d is %#x in input format %d", i, c, format)
		}
	}
	if format < formatCanonical && sideOrEP > 1 || bits.OnesCount8(sideOrEP) > 1 {
		return recordError("side_to_move_or_enpassant is %#x in input format %d", sideOrEP, format)
	}
	if rule50 > maxRule50 {
		return recordError("rule50_count is %d, at most %d", rule50, maxRule50)
	}
	return nil
}

// checkPolicy: a policy over legal moves; where there was a search, the moves
// named are legal.
func (r *Record) checkPolicy(s *policyScan) error {
	if err := s.check(); err != nil {
		return err
	}
	if r.version() < v6Version {
		return nil
	}
	for _, m := range []struct {
		name string
		idx  uint16
	}{{"played_idx", r.PlayedIdx}, {"best_idx", r.BestIdx}} {
		if m.idx >= encoding.NumPolicy {
			return recordError("%s is %d, want less than %d", m.name, m.idx, encoding.NumPolicy)
		}
		if r.Visits > 0 && r.Probabilities[m.idx] < 0 {
			return recordError("%s is %s, which is marked illegal", m.name, encoding.PolicyString(m.idx))
		}
	}
	return nil
}
