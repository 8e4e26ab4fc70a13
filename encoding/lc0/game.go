package lc0

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// importedNet is the NetID of games of which the net is not known.
const importedNet = "leela"

// Game returns the game that a chunk's records (DecodeRecords) are
// the positions of. It is valid, flagged record.Imported, and AppendRecords
// makes the records of it again, byte for byte in versions 6 and 7.
//
// The game begins where the first record's history does, as far as moves can be
// found in it; those have no policy and weight 0. A move is played_idx where the
// version has it, else what changes one board into the next; the last move of
// versions 3 to 5, which nothing tells, is the likeliest that agrees with the
// result. Castling rights and rule50 are those of the first record.
//
// A policy becomes visit counts exactly when they give back every bit of it,
// else it stays float32. Rows that are marked as deleted have weight 0, others 1.
// A position whose outcome is not the game's has one of its own (Game.Results).
// What else a record holds goes to Extra. The id is a hash of the content: the
// same chunk read twice gives one id.
//
// Errors wrap ErrNoGame and name the record, counted from 0.
func Game(records []Record) (*record.Game, error) {
	scans := make([]policyScan, len(records))
	for i := range records {
		scans[i] = records[i].scanPolicy()
	}
	return gameOf(records, scans)
}

// gameOf is Game; scans are of the records.
func gameOf(records []Record, scans []policyScan) (*record.Game, error) {
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: the chunk is empty", ErrNoGame)
	}
	r := recovery{records: records, scans: scans, game: &record.Game{NetID: importedNet, Flags: record.Imported}}
	if err := r.opening(); err != nil {
		return nil, fmt.Errorf("%w: record 0: %w", ErrNoGame, err)
	}
	r.game.Plies = slices.Grow(r.game.Plies, len(records))
	r.extra = &extra{version: records[0].version(), format: records[0].InputFormat, first: len(r.game.Plies)}
	for i := range records {
		if err := r.ply(i); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrNoGame, i, err)
		}
	}
	r.finish()
	if err := r.game.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGame, err)
	}
	if err := r.keepRest(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGame, err)
	}
	r.game.ID = r.id()
	return r.game, nil
}

// recovery is a game in the making.
type recovery struct {
	records []Record
	scans   []policyScan // of the records
	game    *record.Game
	history *chess.History // its newest board is that of the next ply
	legal   chess.MoveList // its legal moves
	extra   *extra

	probs  [chess.MaxMoves]float32 // scratch of policy: of the legal moves
	counts []uint32                // room for the next plies' counts
}

// ply appends record i, whose board is the history's newest.
func (r *recovery) ply(i int) error {
	rec, b := &r.records[i], r.history.Board()
	r.legal.N = 0
	b.GenerateMoves(&r.legal)
	if r.legal.N == 0 {
		return fmt.Errorf("the game is over: %s has no legal move", b.FEN())
	}
	if t := rec.transform(); t&^symmetries(b) != 0 {
		return fmt.Errorf("transform %d does not keep the rules in %s", t, b.FEN())
	}
	m, err := r.move(i)
	if err != nil {
		return err
	}
	p := record.Ply{Move: m, Weight: 1, Flags: record.FullSearch, Visits: rec.Visits, KLD: rec.PolicyKLD,
		Root: rec.Root, Best: rec.Best, Played: rec.Played, Orig: rec.Orig}
	if err := r.policy(i, &p); err != nil {
		return err
	}
	if rec.version() >= v5Version {
		r.flags(rec, &p)
	}
	r.game.Plies = append(r.game.Plies, p)
	r.history.Push(m)
	return nil
}

// flags takes over the marks of a record.
func (r *recovery) flags(rec *Record, p *record.Ply) {
	if rec.Invariance&BestProven != 0 {
		p.Flags |= record.BestProven
	}
	if rec.Invariance&Adjudicated != 0 {
		p.Flags |= record.Adjudicated
	}
	if rec.Invariance&MaxLength != 0 {
		r.game.Flags |= record.MaxPliesHit
	}
	if rec.Invariance&Placeholder != 0 {
		p.Weight = 0
		p.Flags &^= record.FullSearch
	}
}

// policy reads the policy of record i over the legal moves.
func (r *recovery) policy(i int, p *record.Ply) error {
	rec, t, legal := &r.records[i], r.records[i].transform(), r.legal.Slice()
	probs := r.probs[:len(legal)]
	zero, some := 0, 0 // legal moves with probability 0, and above
	for j, m := range legal {
		v := rec.Probabilities[encoding.PolicyIndex(t.Move(m))]
		if v < 0 {
			return fmt.Errorf("the legal move %s is marked illegal in %s", m, r.history.Board().FEN())
		}
		if probs[j] = v; v > 0 {
			some++
		} else {
			zero++
		}
	}
	if r.scans[i].others > some {
		return fmt.Errorf("illegal moves have a probability, as %s may, in %s", rec.otherThan(some), r.history.Board().FEN())
	}
	switch illegal := r.scans[i].zeros - zero; {
	case illegal == encoding.NumPolicy-len(legal) && (i == 0 || r.extra.flags&extraIllegalZero != 0):
		r.extra.flags |= extraIllegalZero
	case illegal != 0 || r.extra.flags&extraIllegalZero != 0:
		return fmt.Errorf("%d illegal moves have probability 0, others -1", illegal)
	}
	switch {
	case rec.version() >= v5Version && rec.Invariance&Placeholder != 0 && rec.Visits == 0 && r.scans[i].others == some && probs[r.legal.Index(p.Move)] == 1:
		p.Kind = record.PolicyNone
	case rec.Visits > 0 && countsOf(r.room(len(probs)), probs, rec.Visits):
		p.Kind, p.Counts = record.PolicyCounts, r.counts[:len(probs):len(probs)]
		r.counts = r.counts[len(probs):]
	default:
		p.Kind, p.Probs = record.PolicyProbs, slices.Clone(probs)
	}
	return nil
}

// room returns n counts of r.counts, which a ply that needs them is to take.
func (r *recovery) room(n int) []uint32 {
	if len(r.counts) < n {
		r.counts = make([]uint32, max(n, 4096))
	}
	return r.counts[:n]
}

// countsOf fills in the visits of which the shares are probs, and says whether
// they give back every bit of them. visits is above 0.
func countsOf(counts []uint32, probs []float32, visits uint32) bool {
	sum := uint64(0)
	for j, p := range probs {
		if counts[j] = 0; p > 0 { // half of the moves have none
			counts[j] = uint32(math.Round(float64(p) * float64(visits-1)))
		}
		sum += uint64(counts[j])
	}
	if sum == 0 {
		return len(probs) == 1 && probs[0] == 1
	}
	for j, p := range probs {
		if counts[j] == 0 && math.Float32bits(p) == 0 {
			continue
		}
		if math.Float32bits(float32(float64(counts[j])/float64(sum))) != math.Float32bits(p) {
			return false
		}
	}
	return true
}

// finish sets the result, the end reason and the outcomes of single positions.
func (r *recovery) finish() {
	g, n := r.game, len(r.records)
	last := &r.records[n-1]
	result := int8(math.Round(float64(last.ResultQ)))
	if g.WhiteResult = result; last.blackToMove() {
		g.WhiteResult = -result
	}
	r.legal.N = 0
	b := r.history.Board()
	b.GenerateMoves(&r.legal)
	over := r.history.Terminal(r.legal.N)
	switch {
	case over == chess.Checkmate && result == 1, over != chess.NotOver && over != chess.Checkmate && result == 0:
		g.End = record.EndOf(over)
	case over != chess.NotOver || last.version() < v5Version:
	case last.Invariance&MaxLength != 0:
		g.End = record.EndMaxPlies
	case last.Invariance&Adjudicated != 0 && result != 0:
		g.End = record.EndResign
	}
	start := r.history.At(0)
	if start.Castles960() {
		g.Flags |= record.Chess960
	}
	for i := range r.records {
		rec := &r.records[i]
		g.SetResult(r.extra.first+i, encoding.QDM{Q: rec.ResultQ, D: rec.ResultD, M: encoding.UnknownQDM.M})
	}
}

// id hashes what tells one game from another: start, moves, values, policies.
func (r *recovery) id() (id [16]byte) {
	h, le := sha256.New(), binary.LittleEndian
	b := append([]byte("leela chunk 1\x00"), r.game.Start...)
	for i := range r.game.Plies {
		p := &r.game.Plies[i]
		b = le.AppendUint16(b, uint16(p.Move))
		b = le.AppendUint32(b, p.Visits)
		b = le.AppendUint32(b, math.Float32bits(p.KLD))
		for _, v := range [...]encoding.QDM{p.Root, p.Best, p.Played, p.Orig, r.game.ResultAt(i)} {
			for _, x := range [...]float32{v.Q, v.D, v.M} {
				b = le.AppendUint32(b, math.Float32bits(x))
			}
		}
		b, _ = binary.Append(b, le, p.Counts) // numbers have a size
		b, _ = binary.Append(b, le, p.Probs)
		h.Write(b)
		b = b[:0]
	}
	h.Write(b)
	h.Write(r.game.Extra)
	copy(id[:], h.Sum(nil))
	return id
}
