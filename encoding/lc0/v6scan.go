package lc0

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
)

// policyScan says what a record's probabilities are, those of illegal moves
// included.
type policyScan struct {
	zeros  int     // how many are 0
	others int     // and neither 0 nor -1
	sum    float64 // of those in [0,1], added up by index

	bad   int    // index of the first that is neither -1 nor in [0,1], -1 if none is
	worst uint32 // its bits
}

// check reports what no policy can be.
func (s *policyScan) check() error {
	if s.bad >= 0 {
		return recordError("probability of %s is %v, want -1 (illegal) or 0 to 1", encoding.PolicyString(uint16(s.bad)), math.Float32frombits(s.worst))
	}
	if math.Abs(s.sum-1) > sumTolerance {
		return recordError("the probabilities sum to %v, want 1", s.sum)
	}
	return nil
}

// add counts probability i.
func (s *policyScan) add(i int, p float32) {
	switch {
	case p == -1:
		return
	case p >= 0 && p <= 1:
		s.sum += float64(p)
	case s.bad < 0:
		s.bad, s.worst = i, math.Float32bits(p)
	}
	if p == 0 {
		s.zeros++
	} else {
		s.others++
	}
}

// scanPolicy looks at all probabilities.
func (r *Record) scanPolicy() policyScan {
	s := policyScan{bad: -1}
	for i, p := range r.Probabilities {
		if p != -1 { // rare
			s.add(i, p)
		}
	}
	return s
}

// otherThan names the move of the probability, by index, that is neither 0 nor
// -1 and has n such before it.
func (r *Record) otherThan(n int) string {
	for i, p := range r.Probabilities {
		if p == 0 || p == -1 {
			continue
		}
		if n--; n < 0 {
			return encoding.PolicyString(uint16(i))
		}
	}
	return "none"
}

// allIllegal is a policy without a legal move, and minusOnes two of its entries
// in a file.
var allIllegal = [encoding.NumPolicy]float32(slices.Repeat([]float32{-1}, encoding.NumPolicy))

const minusOnes = 0xbf800000_bf800000

// Two probabilities are looked at at once.
var _ [0]struct{} = [encoding.NumPolicy % 2]struct{}{}

// decodePolicy reads the probabilities from b and scans them in the same pass.
func (r *Record) decodePolicy(b []byte) policyScan {
	s := policyScan{bad: -1}
	r.Probabilities = allIllegal
	var moves [256]uint16
	var probs [256]float32
	legal, policy := appendPolicy(moves[:0], probs[:0], b)
	for k, idx := range legal {
		r.Probabilities[idx] = policy[k]
		s.add(int(idx), policy[k])
	}
	return s
}

// appendPolicy appends the probabilities in b that are not -1, and their indices.
// Nearly all are -1, so that it is enough to look for what is not.
func appendPolicy(legal []uint16, policy []float32, b []byte) ([]uint16, []float32) {
	le := binary.LittleEndian
	for idx := uint16(0); len(b) >= 8; idx, b = idx+2, b[8:] {
		for len(b) >= 40 && (le.Uint64(b)^minusOnes)|(le.Uint64(b[8:])^minusOnes)|(le.Uint64(b[16:])^minusOnes)|(le.Uint64(b[24:])^minusOnes) == 0 {
			idx, b = idx+8, b[32:]
		}
		two := le.Uint64(b)
		if two == minusOnes {
			continue
		}
		for k, bits := range [2]uint32{uint32(two), uint32(two >> 32)} {
			if p := math.Float32frombits(bits); p != -1 {
				legal, policy = append(legal, idx+uint16(k)), append(policy, p)
			}
		}
	}
	return legal, policy
}
