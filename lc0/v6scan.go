package lc0

import (
	"encoding/binary"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// policyScan says what a record's probabilities are, those of illegal moves
// included.
type policyScan struct {
	zeros  int     // how many are 0
	others int     // and neither 0 nor -1
	bad    int     // index of the first that is neither -1 nor in [0,1], -1 if none is
	sum    float64 // of those in [0,1], added up by index
}

// add counts probability i.
func (s *policyScan) add(i int, p float32) {
	switch {
	case p == -1:
		return
	case p >= 0 && p <= 1:
		s.sum += float64(p)
	case s.bad < 0:
		s.bad = i
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
var allIllegal = func() (p [encoding.NumPolicy]float32) {
	for i := range p {
		p[i] = -1
	}
	return p
}()

const minusOnes = 0xbf800000_bf800000

// Two probabilities are looked at at once.
var _ [0]struct{} = [encoding.NumPolicy % 2]struct{}{}

// decodePolicy reads the probabilities from b and scans them in the same pass.
// Nearly all are -1, so that it is enough to look for what is not.
func (r *Record) decodePolicy(b []byte) policyScan {
	s := policyScan{bad: -1}
	r.Probabilities = allIllegal
	le := binary.LittleEndian
	for i := 0; i < len(r.Probabilities) && len(b) >= 8; i, b = i+2, b[8:] {
		for len(b) >= 40 && (le.Uint64(b)^minusOnes)|(le.Uint64(b[8:])^minusOnes)|(le.Uint64(b[16:])^minusOnes)|(le.Uint64(b[24:])^minusOnes) == 0 {
			i, b = i+8, b[32:]
		}
		two := le.Uint64(b)
		if two == minusOnes {
			continue
		}
		for k, bits := range [2]uint32{uint32(two), uint32(two >> 32)} {
			p := math.Float32frombits(bits)
			r.Probabilities[i+k] = p
			s.add(i+k, p)
		}
	}
	return s
}
