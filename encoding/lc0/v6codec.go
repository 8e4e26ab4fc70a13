package lc0

import (
	"encoding/binary"
	"math"

	"github.com/chessbrain/chessbrain/encoding"
)

// Offsets in a record: little endian, packed (docs/FORMATS.md, section 1).
// Versions 3 and 4 have no input_format, so that all that follows begins at 4
// there and at 8 from version 5 on. The offsets below count from that base.
const (
	atProbabilities = 0
	atPlanes        = atProbabilities + 4*encoding.NumPolicy
	atCastling      = atPlanes + 8*encoding.NumMasks
	atSide          = atCastling + 4
	atRule50        = atSide + 1
	atInvariance    = atRule50 + 1
	atResult        = atInvariance + 1 // int8 up to version 5, then 0
	atValues        = atResult + 1     // float32, see numValues and values
	atVisits        = atValues + 4*15
	atPlayedIdx     = atVisits + 4
	atBestIdx       = atPlayedIdx + 2
	atKLD           = atBestIdx + 2
	atQST           = atKLD + 4
	atDST           = atQST + 4 // version 7 from here
	atOppIdx        = atDST + 4
	atNextIdx       = atOppIdx + 2
	atReserved      = atNextIdx + 2
)

// numValues is the number of float32 at atValues by version, numTail that of the
// fields behind them.
var (
	numValues = [v7Version + 1]int{3: 0, 4: 4, 5: 7, 6: 15, 7: 15}
	numTail   = [v7Version + 1]int{6: 5, 7: 9}
)

// tail lists the fields from atVisits on.
func (r *Record) tail() [9]any {
	return [9]any{&r.Visits, &r.PlayedIdx, &r.BestIdx, &r.PolicyKLD, &r.QST,
		&r.DST, &r.OppPlayedIdx, &r.NextPlayedIdx, &r.Reserved}
}

// The offsets end where the records do.
var (
	_ [V3Size]struct{} = [4 + atValues]struct{}{}
	_ [V4Size]struct{} = [4 + atValues + 4*4]struct{}{}
	_ [V5Size]struct{} = [8 + atValues + 4*7]struct{}{}
	_ [V6Size]struct{} = [8 + atDST]struct{}{}
	_ [V7Size]struct{} = [8 + atReserved + 4*8]struct{}{}
)

// baseOf returns where the probabilities begin.
func baseOf(version uint32) int {
	if version < v5Version {
		return 4
	}
	return 8
}

// Append appends the record's bytes in its version to dst. It checks nothing;
// what the version does not hold is left out.
func (r *Record) Append(dst []byte) []byte {
	version := r.version()
	from := len(dst)
	dst = append(dst, make([]byte, RecordSize(version))...)
	head := dst[from:]
	le := binary.LittleEndian
	le.PutUint32(head, version)
	if version >= v5Version {
		le.PutUint32(head[4:], r.InputFormat)
	}
	b := head[baseOf(version):]
	for i, p := range r.Probabilities {
		le.PutUint32(b[atProbabilities+4*i:], math.Float32bits(p))
	}
	for i, m := range r.Planes {
		le.PutUint64(b[atPlanes+8*i:], reverseInBytes(m))
	}
	copy(b[atCastling:], r.Castling[:])
	b[atSide], b[atRule50], b[atInvariance] = r.SideOrEP, r.Rule50, byte(r.Invariance)
	for i, f := range r.values() {
		if i < numValues[version] {
			le.PutUint32(b[atValues+4*i:], math.Float32bits(*f))
		}
	}
	if version < v6Version {
		b[atResult] = byte(int8(r.ResultQ))
		return dst
	}
	b = b[atVisits:]
	tail := r.tail()
	for _, field := range tail[:numTail[version]] {
		n, _ := binary.Encode(b, le, field) // there is room
		b = b[n:]
	}
	return dst
}

// decode reads the record at the start of b, whose version says how long it is
// (RecordSize), and checks all of it. Errors wrap ErrCorruptRecord and name the
// field. It writes every field, and tells what its only pass over the
// probabilities saw.
func (r *Record) decode(b []byte) (s policyScan, err error) {
	size, err := sizeAt(b)
	if err != nil {
		return s, err
	}
	if len(b) < size {
		return s, recordError("the record ends after %d of %d bytes", len(b), size)
	}
	le := binary.LittleEndian
	r.Version, r.InputFormat = le.Uint32(b), formatClassical
	if r.Version >= v5Version {
		r.InputFormat = le.Uint32(b[4:])
	}
	b = b[baseOf(r.Version):size]
	s = r.decodePolicy(b[atProbabilities:atPlanes])
	planes := b[atPlanes:atCastling]
	for i := range r.Planes {
		r.Planes[i] = reverseInBytes(le.Uint64(planes[8*i:]))
	}
	copy(r.Castling[:], b[atCastling:])
	r.SideOrEP, r.Rule50, r.Invariance = b[atSide], b[atRule50], Invariance(b[atInvariance])
	nan := encoding.UnknownQDM.Q
	for i, f := range r.values() {
		if *f = nan; i < numValues[r.Version] {
			*f = math.Float32frombits(le.Uint32(b[atValues+4*i:]))
		}
	}
	if err := r.decodeTail(b); err != nil {
		return s, err
	}
	return s, r.check(&s)
}

// decodeTail reads what the versions have of their own; b begins at the base.
func (r *Record) decodeTail(b []byte) error {
	nan := encoding.UnknownQDM.Q
	r.Visits, r.PolicyKLD, r.QST, r.DST = 0, 0, nan, nan
	r.PlayedIdx, r.BestIdx = encoding.NoPolicyIndex, encoding.NoPolicyIndex
	r.OppPlayedIdx, r.NextPlayedIdx = encoding.NoPolicyIndex, encoding.NoPolicyIndex
	r.Reserved = [8]float32{nan, nan, nan, nan, nan, nan, nan, nan}
	if r.Version < v6Version {
		result := int8(b[atResult])
		if result < -1 || result > 1 {
			return recordError("result is %d, want -1, 0 or 1", result)
		}
		r.ResultQ, r.ResultD = float32(result), 0
		if result == 0 {
			r.ResultD = 1
		}
		return nil
	}
	if b[atResult] != 0 {
		return recordError("dummy is %d, want 0", b[atResult])
	}
	b = b[atVisits:]
	tail := r.tail()
	for _, field := range tail[:numTail[r.Version]] {
		n, _ := binary.Decode(b, binary.LittleEndian, field) // b has all of them
		b = b[n:]
	}
	return nil
}

// sizeAt returns the length of the record that begins at b, as its version says.
func sizeAt(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, recordError("the record ends after %d of 4 bytes of its version", len(b))
	}
	version := binary.LittleEndian.Uint32(b)
	size := RecordSize(version)
	if size == 0 {
		return 0, recordError("version is %d, this program reads %d to %d", version, firstVersion, v7Version)
	}
	return size, nil
}
