package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// Errors of Leela's records.
var (
	// ErrV6 says that bytes are no sound V6 or V7 record.
	ErrV6 = errors.New("corrupt Leela training record")
	// ErrIndirect says that a chunk is not of a kind that V6Rows reads straight:
	// an older version, or an input format other than 1 and 2. It has to be made a
	// game first.
	ErrIndirect = errors.New("Leela chunk of another version or input format")
)

// Layout of a record, docs/FORMATS.md: little endian, packed; V7 is V6 and 40
// bytes more.
const (
	v6Size     = 8356
	v7Size     = 8396
	v6Policy   = 8
	v6Planes   = v6Policy + 4*encoding.NumPolicy
	v6Castling = v6Planes + 8*encoding.NumMasks
	v6Side     = v6Castling + 4
	v6Rule50   = v6Side + 1
	v6Flags    = v6Rule50 + 1
	v6RootQ    = v6Flags + 2
	v6Visits   = v6RootQ + 60
	v6Indices  = v6Visits + 4
	v6KLD      = v6Indices + 4
	v6STQ      = v6KLD + 4
	v7STD      = v6STQ + 4

	v6Deleted = 1 << 6 // tells how the game went on, and is not trained on
	minusOnes = 0xbf800000_bf800000
)

var _ [v6Size]struct{} = [v6STQ + 4]struct{}{}

// V6Rows reads training rows straight from Leela's records: their planes are
// those of the network, so that no game has to be found out. It keeps its
// scratch. One goroutine at a time.
type V6Rows struct {
	// ShortTerm is the theta of encoding.TargetST over the chunk's root values,
	// as record.Replayer.ShortTerm; 0 takes the record's own short-term value,
	// unknown where it is 0.
	ShortTerm float64

	batch  *encoding.TrainBatch
	packer packer
	legal  []uint16       // policy indices of the record's legal moves, ascending
	policy []float32      // their probabilities
	values []encoding.QDM // TargetST of each record
}

// NewV6Rows returns a V6Rows.
func NewV6Rows() *V6Rows { return &V6Rows{batch: encoding.NewTrainBatch(1)} }

// Frames appends the positions of a chunk, one game's inflated records, to dst.
// Every record is checked; those that a rescorer deleted are no rows. Errors
// wrap ErrV6 and name the record, or are ErrIndirect; dst then has the rows
// before it.
func (r *V6Rows) Frames(dst []Frame, chunk []byte) ([]Frame, error) {
	size, err := v6RecordSize(chunk)
	if err != nil {
		return dst, err
	}
	n := len(chunk) / size
	if r.ShortTerm > 0 {
		r.shortTerm(chunk, size)
	}
	for i := range n {
		rec := chunk[i*size : (i+1)*size]
		r.batch.Reset()
		if err := r.add(rec); err != nil {
			if !errors.Is(err, ErrIndirect) {
				err = fmt.Errorf("record %d of %d: %w", i, n, err)
			}
			return dst, err
		}
		if rec[v6Flags]&v6Deleted != 0 {
			continue
		}
		if r.ShortTerm > 0 {
			r.batch.Targets[0][encoding.TargetST] = r.values[i]
		}
		f, err := r.packer.pack(r.batch, 0, uint64(max(binary.LittleEndian.Uint32(rec[v6Visits:]), 1))-1)
		if err != nil {
			return dst, fmt.Errorf("record %d of %d: %w: %w", i, n, ErrV6, err)
		}
		dst = append(dst, f)
	}
	return dst, nil
}

// v6RecordSize returns the size of a chunk's records.
func v6RecordSize(chunk []byte) (int, error) {
	if len(chunk) == 0 {
		return v6Size, nil
	}
	if len(chunk) < 8 {
		return 0, fmt.Errorf("%w: %d bytes", ErrV6, len(chunk))
	}
	size := v6Size
	switch binary.LittleEndian.Uint32(chunk) {
	case 6:
	case 7:
		size = v7Size
	case 3, 4, 5:
		return 0, ErrIndirect
	default:
		return 0, fmt.Errorf("%w: version is %d, known are 3 to 7", ErrV6, binary.LittleEndian.Uint32(chunk))
	}
	if len(chunk)%size != 0 {
		return 0, fmt.Errorf("%w: the chunk ends after %d of %d bytes of a record", ErrV6, len(chunk)%size, size)
	}
	return size, nil
}

// add appends the position of a record to the batch. An error leaves it as it was.
func (r *V6Rows) add(rec []byte) error {
	b, le := r.batch, binary.LittleEndian
	if v := le.Uint32(rec); v != 6 && v != 7 || v == 7 && len(rec) < v7Size {
		return fmt.Errorf("%w: version changes to %d", ErrV6, v)
	}
	if f := le.Uint32(rec[4:]); f != uint32(encoding.FormatClassical) && f != uint32(encoding.FormatCastlingPlanes) {
		return ErrIndirect
	}
	if err := r.readPolicy(rec[v6Policy:v6Planes]); err != nil {
		return err
	}
	if err := checkV6(rec); err != nil {
		return err
	}
	i := b.Grow(len(r.legal))
	copy(b.LegalOf(i), r.legal)
	copy(b.PolicyOf(i), r.policy)
	masks, planes := &b.Masks[i], rec[v6Planes:v6Castling]
	for k := range masks {
		masks[k] = reverseInBytes(le.Uint64(planes[8*k:]))
	}
	c := rec[v6Castling:]
	b.Scalars[i] = encoding.Scalars{OurOOO: oneIf(c[0]), OurOO: oneIf(c[1]), TheirOOO: oneIf(c[2]), TheirOO: oneIf(c[3]), BlackToMove: rec[v6Side], Rule50: rec[v6Rule50]}
	v6Targets(&b.Targets[i], rec)
	return nil
}

func oneIf(c byte) uint8 {
	if c != 0 {
		return 1
	}
	return 0
}

// reverseInBytes turns a plane of the file into a mask: there byte r is rank r
// too, but its most significant bit is the a-file.
func reverseInBytes(m uint64) uint64 {
	const ones, pairs, fours = 0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f
	m = m>>1&ones | m&ones<<1
	m = m>>2&pairs | m&pairs<<2
	return m>>4&fours | m&fours<<4
}

// readPolicy lists the legal moves, those that are not -1, and checks the
// probabilities.
func (r *V6Rows) readPolicy(src []byte) error {
	r.legal, r.policy = r.legal[:0], r.policy[:0]
	le, sum := binary.LittleEndian, 0.0
	for idx := uint16(0); len(src) >= 8; idx, src = idx+2, src[8:] {
		for len(src) >= 40 && (le.Uint64(src)^minusOnes)|(le.Uint64(src[8:])^minusOnes)|(le.Uint64(src[16:])^minusOnes)|(le.Uint64(src[24:])^minusOnes) == 0 {
			idx, src = idx+8, src[32:]
		}
		two := le.Uint64(src)
		if two == minusOnes { // two illegal moves
			continue
		}
		for k, b := range [2]uint32{uint32(two), uint32(two >> 32)} {
			p := math.Float32frombits(b)
			switch {
			case p >= 0 && p <= 1:
				sum += float64(p)
				r.legal, r.policy = append(r.legal, idx+uint16(k)), append(r.policy, p)
			case p != -1:
				return fmt.Errorf("%w: probability of %s is %v, want -1 (illegal) or 0 to 1", ErrV6, encoding.PolicyString(idx+uint16(k)), p)
			}
		}
	}
	if math.Abs(sum-1) > .01 {
		return fmt.Errorf("%w: the probabilities sum to %v, want 1", ErrV6, sum)
	}
	return nil
}

// Two probabilities are looked at at once.
var _ [0]struct{} = [encoding.NumPolicy % 2]struct{}{}

// v6Values are the values behind the planes, in the order of the file, and
// their ranges; M and plies left are at least 0.
var v6Values = [...]struct {
	name      string
	low, high float32
	nan       bool // NaN = not known
}{
	{"root_q", -1, 1, false}, {"best_q", -1, 1, false}, {"root_d", 0, 1, false}, {"best_d", 0, 1, false},
	{"root_m", 0, math.MaxFloat32, false}, {"best_m", 0, math.MaxFloat32, false}, {"plies_left", 0, math.MaxFloat32, false},
	{"result_q", -1, 1, false}, {"result_d", 0, 1, false},
	{"played_q", -1, 1, false}, {"played_d", 0, 1, false}, {"played_m", 0, math.MaxFloat32, false},
	{"orig_q", -1, 1, true}, {"orig_d", 0, 1, true}, {"orig_m", 0, math.MaxFloat32, true},
}

// checkV6 checks the fields behind the planes.
func checkV6(rec []byte) error {
	for i := range v6Values {
		f := &v6Values[i]
		if x := v6Float(rec, v6RootQ+4*i); !(x >= f.low && x <= f.high) && !(f.nan && x != x) {
			return fmt.Errorf("%w: %s is %v, want %v to %v", ErrV6, f.name, x, f.low, f.high)
		}
	}
	if q := v6Float(rec, v6STQ); !(q >= -1 && q <= 1) {
		return fmt.Errorf("%w: q_st is %v, want -1 to 1", ErrV6, q)
	}
	most := byte(1)
	if binary.LittleEndian.Uint32(rec[4:]) == uint32(encoding.FormatCastlingPlanes) {
		most = 255 // the rook's file as a bit
	}
	for _, c := range rec[v6Castling : v6Castling+4] {
		if c > most || c&(c-1) != 0 {
			return fmt.Errorf("%w: castling byte is %#x", ErrV6, c)
		}
	}
	switch {
	case rec[v6Side] > 1:
		return fmt.Errorf("%w: side_to_move_or_enpassant is %#x", ErrV6, rec[v6Side])
	case rec[v6Rule50] > 100:
		return fmt.Errorf("%w: rule50_count is %d, at most 100", ErrV6, rec[v6Rule50])
	}
	return nil
}

// v6Targets fills the value targets.
func v6Targets(t *[encoding.NumTargets]encoding.QDM, rec []byte) {
	at := func(q, d, m int) encoding.QDM {
		return encoding.QDM{Q: v6Float(rec, v6RootQ+4*q), D: v6Float(rec, v6RootQ+4*d), M: v6Float(rec, v6RootQ+4*m)}
	}
	t[encoding.TargetRoot] = at(0, 2, 4)
	t[encoding.TargetBest] = at(1, 3, 5)
	t[encoding.TargetResult] = at(7, 8, 6)
	t[encoding.TargetPlayed] = at(9, 10, 11)
	t[encoding.TargetOrig] = at(12, 13, 14)
	if q := v6Float(rec, v6STQ); q != 0 {
		t[encoding.TargetST] = encoding.QDM{Q: q, D: encoding.UnknownQDM.D, M: encoding.UnknownQDM.M}
		if len(rec) == v7Size {
			t[encoding.TargetST].D = v6Float(rec, v7STD)
		}
	}
}

// shortTerm computes TargetST of each record, as record.Replayer does: the
// average of this and later root values, up to the result of the last.
func (r *V6Rows) shortTerm(chunk []byte, size int) {
	n := len(chunk) / size
	r.values = append(r.values[:0], make([]encoding.QDM, n)...)
	var t [encoding.NumTargets]encoding.QDM
	var v encoding.QDM
	for i := n - 1; i >= 0; i-- {
		v6Targets(&t, chunk[i*size:(i+1)*size])
		if i == n-1 {
			v = t[encoding.TargetResult]
		} else {
			v.Q, v.M = -v.Q, v.M+1
		}
		v = record.Blend(t[encoding.TargetRoot], v, r.ShortTerm)
		r.values[i] = v
	}
}

func v6Float(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}
