package lc0

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
)

// ErrIndirect says that a chunk is not of a kind that a RowReader reads straight:
// an older version, or an input format other than 1 and 2. It has to be made a game
// first.
var ErrIndirect = errors.New("Leela chunk of another version or input format")

// RowReader reads training rows straight from Leela's records: their planes are
// those of the network, so that no game has to be found out. It keeps its scratch;
// the zero value is ready. One goroutine at a time.
type RowReader struct {
	// ShortTerm is the theta of encoding.TargetST over the chunk's root values,
	// as record.Replayer.ShortTerm; 0 takes the record's own short-term value,
	// unknown where it is 0.
	ShortTerm float64

	batch  *encoding.TrainBatch
	legal  []uint16       // policy indices of the record's legal moves, ascending
	policy []float32      // their probabilities
	values []encoding.QDM // TargetST of each record
}

// Rows calls do with each position of a chunk, one game's inflated records, as the
// only row of b, and with its visits. Every record is checked; those that a rescorer
// deleted are no rows. Errors name the record and wrap ErrCorruptRecord or do's, or
// are ErrIndirect.
func (r *RowReader) Rows(chunk []byte, do func(b *encoding.TrainBatch, visits uint32) error) error {
	if len(chunk) == 0 {
		return nil
	}
	size, err := sizeAt(chunk)
	switch {
	case err != nil:
		return err
	case size < V6Size:
		return ErrIndirect
	case len(chunk)%size != 0:
		return recordError("the chunk ends after %d of %d bytes of a record", len(chunk)%size, size)
	}
	if r.batch == nil {
		r.batch = encoding.NewTrainBatch(1)
	}
	n := len(chunk) / size
	if r.ShortTerm > 0 {
		r.values = slices.Grow(r.values[:0], n)[:n]
		root := func(i int) encoding.QDM { return valueAt(chunk[i*size+8:], 0, 2, 4) }
		shortTermValues(r.values, root, valueAt(chunk[(n-1)*size+8:], 7, 8, 6), r.ShortTerm)
	}
	for i := range n {
		rec := chunk[i*size : (i+1)*size]
		r.batch.Reset()
		err := r.add(rec)
		if err == nil && Invariance(rec[8+atInvariance])&Placeholder == 0 {
			if r.ShortTerm > 0 {
				r.batch.Targets[0][encoding.TargetST] = r.values[i]
			}
			err = do(r.batch, binary.LittleEndian.Uint32(rec[8+atVisits:]))
		}
		if errors.Is(err, ErrIndirect) {
			return err
		}
		if err != nil {
			return fmt.Errorf("record %d of %d: %w", i, n, err)
		}
	}
	return nil
}

// add appends the position of a record to the batch. An error leaves it as it was.
func (r *RowReader) add(rec []byte) error {
	b, le := r.batch, binary.LittleEndian
	version, format := le.Uint32(rec), le.Uint32(rec[4:])
	if RecordSize(version) != len(rec) {
		return recordError("version changes to %d", version)
	}
	if format != formatClassical && format != formatCastlingPlanes {
		return ErrIndirect
	}
	rec = rec[8:]
	scan := policyScan{bad: -1}
	r.legal, r.policy = appendPolicy(r.legal[:0], r.policy[:0], rec[atProbabilities:atPlanes])
	for k, idx := range r.legal {
		scan.add(int(idx), r.policy[k])
	}
	if err := scan.check(); err != nil {
		return err
	}
	for i := range valueRanges {
		if err := valueRanges[i].check(floatAt(rec, atValues+4*i)); err != nil {
			return err
		}
	}
	if q := floatAt(rec, atQST); !(q >= -1 && q <= 1) {
		return recordError("q_st is %v, want -1 to 1", q)
	}
	castling := [4]uint8(rec[atCastling:])
	if err := checkPosition(format, castling, rec[atSide], rec[atRule50]); err != nil {
		return err
	}
	i := b.Grow(len(r.legal))
	copy(b.LegalOf(i), r.legal)
	copy(b.PolicyOf(i), r.policy)
	masks, planes := &b.Masks[i], rec[atPlanes:atCastling]
	for k := range masks {
		masks[k] = reverseInBytes(le.Uint64(planes[8*k:]))
	}
	for k, c := range castling {
		castling[k] = min(c, 1)
	}
	b.Scalars[i] = encoding.Scalars{OurOOO: castling[0], OurOO: castling[1], TheirOOO: castling[2], TheirOO: castling[3],
		BlackToMove: rec[atSide], Rule50: rec[atRule50]}
	fillTargets(&b.Targets[i], rec, version)
	return nil
}

// fillTargets fills the value targets from what lies behind a record's head.
func fillTargets(t *[encoding.NumTargets]encoding.QDM, rec []byte, version uint32) {
	t[encoding.TargetRoot] = valueAt(rec, 0, 2, 4)
	t[encoding.TargetBest] = valueAt(rec, 1, 3, 5)
	t[encoding.TargetResult] = valueAt(rec, 7, 8, 6)
	t[encoding.TargetPlayed] = valueAt(rec, 9, 10, 11)
	t[encoding.TargetOrig] = valueAt(rec, 12, 13, 14)
	if q := floatAt(rec, atQST); q != 0 {
		t[encoding.TargetST] = encoding.QDM{Q: q, D: encoding.UnknownQDM.D, M: encoding.UnknownQDM.M}
		if version == v7Version {
			t[encoding.TargetST].D = floatAt(rec, atDST)
		}
	}
}

// valueAt returns the value whose parts have these numbers in valueRanges.
func valueAt(rec []byte, q, d, m int) encoding.QDM {
	return encoding.QDM{Q: floatAt(rec, atValues+4*q), D: floatAt(rec, atValues+4*d), M: floatAt(rec, atValues+4*m)}
}

func floatAt(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}
