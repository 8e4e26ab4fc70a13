package lc0

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
)

// ErrCorruptRecord says that bytes are no V6 training record.
var ErrCorruptRecord = errors.New("corrupt Leela training record")

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

// check reports the first field that no record can hold.
func (r *V6) check() error {
	switch r.InputFormat {
	case 1, 2, 3, 4, 5, 132, 133:
	default:
		return recordError("input_format is %d, known are 1 to 5, 132 and 133", r.InputFormat)
	}
	if err := r.checkPosition(); err != nil {
		return err
	}
	if err := r.checkPolicy(); err != nil {
		return err
	}
	for _, f := range r.values() {
		if x := *f.v; !(x >= f.low && x <= f.high) && !(f.nan && x != x) {
			return recordError("%s is %v, want %v to %v", f.name, x, f.low, f.high)
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
	return nil
}

func (r *V6) checkPosition() error {
	classical := r.InputFormat == formatClassical
	for i, c := range r.Castling {
		if classical && c > 1 || bits.OnesCount8(c) > 1 {
			return recordError("castling byte %d is %#x in input format %d", i, c, r.InputFormat)
		}
	}
	if r.InputFormat <= formatCastlingPlanes && r.SideOrEP > 1 || bits.OnesCount8(r.SideOrEP) > 1 {
		return recordError("side_to_move_or_enpassant is %#x in input format %d", r.SideOrEP, r.InputFormat)
	}
	if r.Rule50 > maxRule50 {
		return recordError("rule50_count is %d, at most %d", r.Rule50, maxRule50)
	}
	return nil
}

// checkPolicy: a policy over legal moves; where there was a search, the moves
// named are legal.
func (r *V6) checkPolicy() error {
	sum := 0.0
	for i, p := range r.Probabilities {
		switch {
		case p >= 0 && p <= 1:
			sum += float64(p)
		case p != -1:
			return recordError("probability of %s is %v, want -1 (illegal) or 0 to 1", encoding.PolicyString(uint16(i)), p)
		}
	}
	if math.Abs(sum-1) > sumTolerance {
		return recordError("the probabilities sum to %v, want 1", sum)
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
