package lc0

import (
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

// valueField is one float32 of a record: its name in Leela's struct and what it
// may be.
type valueField struct {
	name      string
	v         *float32
	low, high float32
	nan       bool // NaN = not known is allowed in every version
}

// values lists the float32 fields that lie behind each other, in the order of
// the file. A version has the first numValues of them; the result of those up to
// 5 is a byte.
func (r *Record) values() [15]valueField {
	const most = math.MaxFloat32
	return [15]valueField{
		{"root_q", &r.Root.Q, -1, 1, false},
		{"best_q", &r.Best.Q, -1, 1, false},
		{"root_d", &r.Root.D, 0, 1, false},
		{"best_d", &r.Best.D, 0, 1, false},
		{"root_m", &r.Root.M, 0, most, false},
		{"best_m", &r.Best.M, 0, most, false},
		{"plies_left", &r.PliesLeft, 0, most, false},
		{"result_q", &r.ResultQ, -1, 1, false},
		{"result_d", &r.ResultD, 0, 1, false},
		{"played_q", &r.Played.Q, -1, 1, false},
		{"played_d", &r.Played.D, 0, 1, false},
		{"played_m", &r.Played.M, 0, most, false},
		{"orig_q", &r.Orig.Q, -1, 1, true},
		{"orig_d", &r.Orig.D, 0, 1, true},
		{"orig_m", &r.Orig.M, 0, most, true},
	}
}

// check reports the first field that no record can hold; s is of its policy.
func (r *Record) check(s *policyScan) error {
	switch r.InputFormat {
	case 1, 2, 3, 4, 5, 132, 133:
	default:
		return recordError("input_format is %d, known are 1 to 5, 132 and 133", r.InputFormat)
	}
	if err := r.checkPosition(); err != nil {
		return err
	}
	if err := r.checkPolicy(s); err != nil {
		return err
	}
	fields := r.values()
	for i := range fields[:numValues[r.version()]] {
		if err := fields[i].check(); err != nil {
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

func (f *valueField) check() error {
	if x := *f.v; !(x >= f.low && x <= f.high) && !(f.nan && x != x) {
		return recordError("%s is %v, want %v to %v", f.name, x, f.low, f.high)
	}
	return nil
}

// checkShortTerm checks what follows the indices, from version 6 on.
func (r *Record) checkShortTerm() error {
	version := r.version()
	if version < v6Version {
		return nil
	}
	late := version == v7Version
	for _, f := range []valueField{
		{"policy_kld", &r.PolicyKLD, 0, math.MaxFloat32, false},
		{"q_st", &r.QST, -1, 1, late},
		{"d_st", &r.DST, 0, 1, true},
	} {
		if f.v == &r.DST && !late {
			continue
		}
		if err := f.check(); err != nil {
			return err
		}
	}
	if !late {
		return nil
	}
	for i, idx := range [2]uint16{r.OppPlayedIdx, r.NextPlayedIdx} {
		if idx >= encoding.NumPolicy && idx != encoding.NoPolicyIndex {
			name := [2]string{"opp_played_idx", "next_played_idx"}[i]
			return recordError("%s is %d, want less than %d, or %d", name, idx, encoding.NumPolicy, encoding.NoPolicyIndex)
		}
	}
	return nil
}

func (r *Record) checkPosition() error {
	classical := r.InputFormat == formatClassical
	for i, c := range r.Castling {
		if classical && c > 1 || bits.OnesCount8(c) > 1 {
			return recordError("castling byte %d is %#x in input format %d", i, c, r.InputFormat)
		}
	}
	if !r.canonical() && r.SideOrEP > 1 || bits.OnesCount8(r.SideOrEP) > 1 {
		return recordError("side_to_move_or_enpassant is %#x in input format %d", r.SideOrEP, r.InputFormat)
	}
	if r.Rule50 > maxRule50 {
		return recordError("rule50_count is %d, at most %d", r.Rule50, maxRule50)
	}
	return nil
}

// checkPolicy: a policy over legal moves; where there was a search, the moves
// named are legal.
func (r *Record) checkPolicy(s *policyScan) error {
	if s.bad >= 0 {
		return recordError("probability of %s is %v, want -1 (illegal) or 0 to 1", encoding.PolicyString(uint16(s.bad)), r.Probabilities[s.bad])
	}
	if math.Abs(s.sum-1) > sumTolerance {
		return recordError("the probabilities sum to %v, want 1", s.sum)
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
