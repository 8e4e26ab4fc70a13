package record

import (
	"unicode/utf8"

	"github.com/chessbrain/chessbrain/chess"
)

// Limits of a record.
const (
	MaxText  = 255     // bytes of Start and of NetID
	MaxBytes = 1 << 20 // bytes of a whole encoded game
)

// Validate replays g and reports the first thing that is wrong as an
// *InvalidError: an unknown enum or flag, an illegal move, a policy that does
// not lie beside the legal moves, a value out of range, an end reason or
// result that the final position contradicts. Append and Decode let only valid
// games through.
func (g *Game) Validate() error {
	return g.replay(func(*walker, *Ply) {})
}

// replay validates g and calls visit with each ply, at whose position the walker
// stands.
func (g *Game) replay(visit func(w *walker, p *Ply)) error {
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	if err := g.checkHeader(); err != nil {
		return err
	}
	if err := w.begin(g); err != nil {
		return err
	}
	for i := range g.Plies {
		p := &g.Plies[i]
		w.generate()
		if err := w.checkPly(i, p); err != nil {
			return err
		}
		visit(w, p)
		w.history.Push(p.Move)
	}
	return w.checkEnd(g)
}

func (g *Game) checkHeader() error {
	for _, f := range []struct{ name, text string }{{"start", g.Start}, {"net id", g.NetID}} {
		if len(f.text) > MaxText {
			return invalid(-1, f.name, "%d bytes, at most %d", len(f.text), MaxText)
		}
		if !utf8.ValidString(f.text) {
			return invalid(-1, f.name, "not UTF-8: %q", f.text)
		}
	}
	if g.Flags&^allGameFlags != 0 {
		return invalid(-1, "flags", "unknown bits %#x", g.Flags&^allGameFlags)
	}
	if g.End >= numEndReasons {
		return invalid(-1, "end", "unknown reason %d", g.End)
	}
	if g.WhiteResult < -1 || g.WhiteResult > 1 {
		return invalid(-1, "result", "%d, want -1, 0 or 1", g.WhiteResult)
	}
	return nil
}

// checkEnd holds g's end reason and result against the final position, which
// is the walker's current one. Where several reasons hold (stalemate at the
// hundredth ply), any of them is right, but mate comes before all. The results
// of single positions only have to be in range.
func (w *walker) checkEnd(g *Game) error {
	if err := g.checkResults(); err != nil {
		return err
	}
	b, over := w.history.Board(), len(w.generate()) == 0
	mate := over && b.InCheck()
	ok, why := true, ""
	switch g.End {
	case EndUnknown:
	case EndCheckmate:
		ok, why = mate, "the side to move is not mated"
	case EndStalemate:
		ok, why = over && !mate, "the side to move is not stalemated"
	case EndRepetition:
		ok, why = w.history.Repetitions(w.history.Len()-1) >= 2, "the final position has not occurred three times"
	case EndFiftyMoves:
		ok, why = b.Rule50() >= 100, "rule50 is below 100"
	case EndMaterial:
		ok, why = b.InsufficientMaterial(), "there is mating material"
	default: // resign, tablebase, max-plies, aborted
		ok, why = !over, "the side to move has no legal move"
	}
	if ok && mate && g.End != EndCheckmate && g.End != EndUnknown {
		ok, why = false, "the side to move is mated"
	}
	if !ok {
		return invalid(-1, "end", "%s, but %s: %s", g.End, why, b.FEN())
	}
	return checkResult(g, b, over, mate)
}

// checkResult holds the result against the final position b.
func checkResult(g *Game, b *chess.Board, over, mate bool) error {
	want := int8(0)
	switch {
	case mate:
		want = 1
		if b.SideToMove() == chess.White {
			want = -1
		}
	case over:
	case g.End == EndResign && g.WhiteResult == 0:
		return invalid(-1, "result", "0 after %s, want a winner", g.End)
	case g.End == EndUnknown, g.End == EndResign, g.End == EndTablebase, g.End == EndMaxPlies:
		return nil
	}
	if g.WhiteResult != want {
		return invalid(-1, "result", "%+d after %s, want %+d: %s", g.WhiteResult, g.End, want, b.FEN())
	}
	return nil
}
