package lc0

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// Form says in which version and input format AppendRecords writes a game.
type Form struct {
	Version     uint32  // 6 or 7; 0 = 7 if the game was read from such a chunk, else 6
	InputFormat uint32  // 1 to 5, 132, 133; 0 = that of the chunk the game was read from, else 1, but 2 in Chess960
	ShortTerm   float64 // theta of q_st and d_st, [0,1) (see record.Replayer); 0 = q_st is 0 in version 6, theta .8333 in version 7
}

// defaultTheta is Leela's st_q_theta.
const defaultTheta = .8333

// AppendRecords appends a game as Leela's records in the form asked for, from the
// first row that is trained on (a policy and a weight above 0) to the last move.
//
// Leela's rescorer finds the moves by comparing neighbours, so that no position
// may be missing in between: a row that is not trained on, such as a cheap
// search of the playout cap, is a record with the Placeholder flag, which the
// rescorer uses and then drops. Without a policy it has probability 1 on the
// move played. Moves before the first trained row show in its history planes.
//
// Where a value is not known (a move that was played without a visit), it is
// that of the next position, turned round and a ply longer; at the end of the
// game, the result. Draw probabilities are lowered by what rounding needs to
// keep win and loss from being negative. A record.Ply does not say which move
// Best is of: where Played equals Best it is taken to be the move played, if that
// has the largest policy or Best is proven, else the largest of the other moves.
// That may be wrong where several moves have the most visits.
//
// Of a game that function Game made, the records are those that it was made of,
// but for what was changed in the game since: its Extra holds what moves and
// plies do not say.
//
// Input format is 1, but 2 in Chess960, where format 1 cannot say which rook
// castles. Row weights other than 0 have no place. Nothing is appended of a game
// without a trained row. Errors: an
// *record.InvalidError, ErrNoResult of an aborted game, ErrCorruptRecord of a
// damaged Extra; dst is then returned as it was.
//
// A record of version 7 has the indices of the next two moves, and short-term
// values.
func AppendRecords(dst []byte, g *record.Game, form Form) ([]byte, error) {
	if err := g.Validate(); err != nil {
		return dst, fmt.Errorf("write Leela records: %w", err)
	}
	if g.End == record.EndAborted {
		return dst, fmt.Errorf("write Leela records: %w", ErrNoResult)
	}
	x, err := parseExtra(g.Extra)
	if err != nil {
		return dst, fmt.Errorf("write Leela records: %w", err)
	}
	w, err := newWriter(g, form, x)
	if err != nil {
		return dst, fmt.Errorf("write Leela records: %w", err)
	}
	if n := len(g.Plies) - w.first; n > maxChunkRecords {
		return dst, fmt.Errorf("write Leela records: %d positions, at most %d", n, maxChunkRecords)
	}
	dst = slices.Grow(dst, (len(g.Plies)-w.first)*RecordSize(w.record.Version))
	for i := range g.Plies {
		if i >= w.first {
			w.fill(i)
			dst = w.record.Append(dst)
		}
		w.history.Push(g.Plies[i].Move)
	}
	return dst, nil
}

// v6Writer replays a valid game and describes its positions.
type v6Writer struct {
	game      *record.Game
	first     int    // ply of the first record
	extra     *extra // what the chunk said that the game was read from; may be empty
	same      bool   // the chunk had this input format
	noPolicy  bool   // the probabilities are not wanted
	history   *chess.History
	moves     chess.MoveList
	transform encoding.Transform // of the current record
	reached   []encoding.QDM     // see reachedValues
	shortTerm []encoding.QDM     // by ply; nil = not wanted

	ownShortTerm bool    // those of the chunk are not wanted
	left         float32 // plies_left of the last record, had it none of its own
	record       Record
}

// newWriter returns a writer whose history holds g's start.
func newWriter(g *record.Game, form Form, x *extra) (*v6Writer, error) {
	start, err := g.StartBoard()
	if err != nil {
		return nil, err
	}
	w := &v6Writer{game: g, extra: x, history: chess.NewHistory(start), reached: reachedValues(g)}
	if w.first = x.first; x.version == 0 {
		for w.first < len(g.Plies) && !g.Plies[w.first].Trained() {
			w.first++
		}
	}
	if w.first > len(g.Plies) {
		return nil, recordError("extra block: the first record is at ply %d of %d", w.first, len(g.Plies))
	}
	r := &w.record
	r.Version = cmp.Or(form.Version, max(x.version, v6Version))
	if r.Version != v6Version && r.Version != v7Version {
		return nil, fmt.Errorf("records of version %d: want %d or %d", r.Version, v6Version, v7Version)
	}
	if err := w.setFormat(form.InputFormat, &start); err != nil {
		return nil, err
	}
	if !(form.ShortTerm >= 0 && form.ShortTerm < 1) {
		return nil, fmt.Errorf("short-term theta %v: want 0 or more and less than 1", form.ShortTerm)
	}
	if w.ownShortTerm = form.ShortTerm > 0; r.Version == v7Version && !w.ownShortTerm {
		form.ShortTerm = defaultTheta
	}
	if n := len(g.Plies); form.ShortTerm > 0 && n > 0 {
		w.shortTerm = make([]encoding.QDM, n)
		shortTermValues(w.shortTerm, func(i int) encoding.QDM { return g.Plies[i].Root }, g.ResultAt(n-1), form.ShortTerm)
	}
	return w, nil
}

// setFormat chooses the input format.
func (w *v6Writer) setFormat(format uint32, start *chess.Board) error {
	nonstandard := w.game.Flags&record.Chess960 != 0 || start.Castles960()
	usual := formatClassical
	if nonstandard {
		usual = formatCastlingPlanes
	}
	format = cmp.Or(format, w.extra.format, usual)
	if !knownFormat(format) {
		return fmt.Errorf("input format %d, known are 1 to 5, 132 and 133", format)
	}
	w.same = format == w.extra.format
	if format == formatClassical && nonstandard && !w.same {
		return fmt.Errorf("input format 1 cannot say which rook castles: choose another for Chess960")
	}
	w.record.InputFormat = format
	return nil
}

// fill describes the position before ply i, the history's newest.
func (w *v6Writer) fill(i int) {
	p, r := &w.game.Plies[i], &w.record
	x := w.extra.of(i - w.first)
	x.result = w.game.ResultAt(i)
	w.fillInput(x.flags)
	w.moves.N = 0
	w.history.Board().GenerateMoves(&w.moves)
	if !w.noPolicy {
		w.fillPolicy(p)
	}
	after := turned(w.reached[i+1])
	r.Root, r.Played, r.Best, r.Orig = w.reached[i], known(p.Played, after), known(p.Best, after), p.Orig
	for k, v := range [...]*encoding.QDM{&r.Root, &r.Best, &r.Played, &r.Orig} {
		if x.verbatim>>k&1 == 0 {
			*v = drawnIn(*v)
		}
	}
	w.fillResult(i, x)
	r.Visits = p.Visits
	r.PlayedIdx = w.index(p.Move)
	r.BestIdx = w.index(bestMove(p, w.moves.Slice()))
	if r.PolicyKLD = p.KLD; p.KLD < 0 {
		r.PolicyKLD = 0
	}
	r.Invariance |= w.flags(p)
	w.fillV7(i)
	w.applyExtra(x)
}

// fillResult writes the outcome of the position and its plies left: its own
// where a rescorer has set them.
func (w *v6Writer) fillResult(i int, x recordExtra) {
	g, r := w.game, &w.record
	if i == w.first {
		w.left = w.pliesLeft(len(g.Plies) - w.first)
	} else {
		w.left--
	}
	r.PliesLeft = w.left
	if x.resultM || len(g.Results) > 0 && g.Results[i].M >= 0 {
		r.PliesLeft = x.result.M
	}
	result := drawnIn(x.result)
	r.ResultQ, r.ResultD = result.Q, result.D
}

// fillV7 writes the short-term values and the moves that follow.
func (w *v6Writer) fillV7(i int) {
	r := &w.record
	if r.QST, r.DST = 0, 0; w.shortTerm != nil {
		v := drawnIn(w.shortTerm[i])
		r.QST, r.DST = v.Q, v.D
	}
	r.OppPlayedIdx, r.NextPlayedIdx = encoding.NoPolicyIndex, encoding.NoPolicyIndex
	r.Reserved = [8]float32{}
	if r.Version != v7Version {
		return
	}
	n := w.history.Len()
	for k, idx := range [...]*uint16{&r.OppPlayedIdx, &r.NextPlayedIdx} {
		if i+1+k >= len(w.game.Plies) {
			break
		}
		w.history.Push(w.game.Plies[i+k].Move)
		t := encoding.Transform(0)
		if r.canonical() {
			t = encoding.CanonicalTransform(w.history.Board())
		}
		*idx = encoding.PolicyIndex(t.Move(w.game.Plies[i+1+k].Move))
	}
	w.history.Truncate(n)
}

// pliesLeft is Leela's estimate for the first of n records: the last one's
// best_m and the records after the first, rounded as one float32 sum.
func (w *v6Writer) pliesLeft(n int) float32 {
	last := len(w.game.Plies) - 1
	best := known(w.game.Plies[last].Best, turned(w.reached[last+1]))
	return float32(best.M+float32(n)) - 1
}

func (w *v6Writer) flags(p *record.Ply) Invariance {
	f := Invariance(0)
	if p.Flags&record.BestProven != 0 {
		f |= BestProven
	}
	if p.Flags&record.Adjudicated != 0 {
		f |= Adjudicated
	}
	if w.game.Flags&record.MaxPliesHit != 0 {
		f |= MaxLength
	}
	if !p.Trained() {
		f |= Placeholder
	}
	return f
}
