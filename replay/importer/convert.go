package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// NetID stands in imported games where others have the net that played.
const NetID = "pgn"

// Targets say what the positions of an imported game teach.
type Targets struct {
	// Annotated takes evaluations in comments as root values (readAnnotation lists
	// the forms) beside the result, which is always there.
	Annotated bool

	// DrawRate gives annotations, which know no draws, a draw probability:
	// DrawRate at Q = 0, falling in a straight line to 0 at Q = +-1. Without it
	// (NaN) D is not known and win-draw-loss losses leave such values out. A mate
	// has D = 0.
	DrawRate float64

	// Smoothing is the share of the policy that all legal moves have alike, [0,1);
	// the rest is on the move played. 0 = one-hot.
	Smoothing float64

	// Temperature T changes a smoothed policy to p^(1/T), normalised; above 1 it is
	// flatter. 1 (or 0) leaves it alone, as a one-hot policy always is.
	Temperature float64
}

// Validate says which number is out of range.
func (t *Targets) Validate() error {
	smooth, temp := t.Smoothing, t.Temperature
	return cmp.Or(replay.Wrong(!(smooth >= 0 && smooth < 1), "label smoothing %v: want 0 to less than 1", smooth),
		replay.Wrong(temp != 0 && !(temp >= 0.01 && temp <= 100), "policy temperature %v: want 0.01 to 100", temp),
		replay.Wrong(t.DrawRate < 0 || t.DrawRate > 1, "draw rate %v: want 0 to 1", t.DrawRate))
}

// Convert makes a record of a PGN game; g needs its comments where targets are
// annotated. Ordinal is left 0. Each position has weight 1 and the move played as
// policy; values that nobody gave are NaN, visits unknown.
//
// The end comes from the final position, where the game is over by the rules and
// the result agrees. Else it is EndAborted without a result ("*"), and otherwise
// what the tags say: our own EndReason, or EndResign where Termination speaks of
// resignation or calls a decided game without mate "normal"; else EndUnknown. A
// result that the final position contradicts, or that differs between tag and
// moves, is an error, and so is a game that is too large for a record.
func Convert(g *pgn.Game, t Targets) (*record.Game, error) {
	out := &record.Game{ID: GameID(g), NetID: NetID, Flags: record.Imported, Extra: AppendTags(nil, g.Tags)}
	if g.Start != chess.StartBoard() {
		out.Start = g.Start.FEN()
	}
	if g.Start.Castles960() || is960(g.Tag("Variant")) {
		out.Flags |= record.Chess960
	}
	c := converter{in: g, out: out, targets: t, history: chess.NewHistory(g.Start), after: encoding.UnknownQDM}
	out.Plies = make([]record.Ply, len(g.Moves))
	for i := range g.Moves {
		if err := c.ply(i); err != nil {
			return nil, err
		}
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return out, nil
}

// is960 says whether a Variant tag names Chess960.
func is960(variant string) bool {
	v := strings.ToLower(variant)
	return strings.Contains(v, "960") || strings.Contains(v, "fisch") || strings.Contains(v, "freestyle")
}

// converter plays one game.
type converter struct {
	in      *pgn.Game
	out     *record.Game
	targets Targets
	history *chess.History
	moves   chess.MoveList
	after   encoding.QDM // white's value of the current position, from the comment before it
	counts  []uint32     // what is left of a block
	probs   []float32    // likewise
}

// ply fills in position i and plays its move.
func (c *converter) ply(i int) error {
	b, p := c.history.Board(), &c.out.Plies[i]
	c.moves.N = 0
	b.GenerateMoves(&c.moves)
	played := c.moves.Index(c.in.Moves[i])
	if played < 0 {
		return fmt.Errorf("ply %d: the move is illegal", i+1)
	}
	unknown := encoding.UnknownQDM
	*p = record.Ply{Move: c.in.Moves[i], Weight: 1, Root: unknown, Best: unknown, Played: unknown, Orig: unknown}
	c.policy(p, played)
	if c.targets.Annotated && len(c.in.Comments) > 0 {
		c.annotate(p, c.in.Comments[i], b.SideToMove() == chess.Black)
	}
	c.history.Push(p.Move)
	return nil
}

// policy writes the target of p, whose move is number played of the legal ones.
func (c *converter) policy(p *record.Ply, played int) {
	n := c.moves.N
	if c.targets.Smoothing == 0 {
		p.Kind, p.Counts = record.PolicyCounts, record.Cut(&c.counts, n)
		p.Counts[played] = 1
		return
	}
	p.Kind, p.Probs = record.PolicyProbs, record.Cut(&c.probs, n)
	rest := c.targets.Smoothing / float64(n)
	top := 1 - c.targets.Smoothing + rest
	if t := c.targets.Temperature; t != 0 && t != 1 {
		// Powers relative to the largest: none overflows, and the sum is at least 1.
		ratio := math.Pow(rest/top, 1/t)
		top = 1 / (1 + ratio*float64(n-1))
		rest = ratio * top
	}
	for j := range p.Probs {
		p.Probs[j] = float32(rest)
	}
	p.Probs[played] = float32(top)
}

// annotate sets the values that comments give: the search's own before the move,
// or else what was said of the position after the move before.
func (c *converter) annotate(p *record.Ply, comment string, black bool) {
	a := readAnnotation(comment, c.targets.DrawRate)
	mine := func(v encoding.QDM) encoding.QDM {
		if black {
			v.Q = -v.Q
		}
		return v
	}
	for _, v := range []encoding.QDM{a.root, mine(a.white), mine(c.after)} {
		if v.Q == v.Q {
			p.Root = v
			break
		}
	}
	p.Visits = a.visits
	p.Played, c.after = mine(a.after), a.after
}

// results are the outcomes of PGN, white's view.
var results = map[string]int8{"1-0": 1, "0-1": -1, "1/2-1/2": 0}

// end sets End and WhiteResult.
func (c *converter) end() error {
	text := c.in.Result
	tag := c.in.Tag("Result")
	if _, known := results[tag]; known && text == "*" {
		text = tag
	} else if known && tag != text {
		return fmt.Errorf("the moves end with %s, the Result tag says %s", text, tag)
	}
	result, decided := results[text]
	b := c.history.Board()
	c.moves.N = 0
	b.GenerateMoves(&c.moves)
	over := c.history.Terminal(c.moves.N)
	byRule := int8(0)
	if over == chess.Checkmate {
		byRule = 1
		if b.SideToMove() == chess.White {
			byRule = -1
		}
	}
	switch {
	case over != chess.NotOver && (!decided || result == byRule):
		c.out.End, c.out.WhiteResult = record.EndOf(over), byRule
	case over == chess.Checkmate || over == chess.Stalemate:
		return fmt.Errorf("the result is %s, but the final position is %s", text, over)
	case !decided:
		c.out.End = record.EndAborted
	default:
		c.out.WhiteResult = result
		c.out.End = endOfTags(c.in, result)
	}
	c.markAdjudicated()
	return nil
}

// endOfTags is the end of a game that its final position does not explain.
func endOfTags(g *pgn.Game, result int8) record.EndReason {
	switch reason := g.Tag("EndReason"); reason {
	case record.EndTablebase.String():
		return record.EndTablebase
	case record.EndMaxPlies.String():
		return record.EndMaxPlies
	}
	termination := strings.ToLower(g.Tag("Termination"))
	if result != 0 && (termination == "normal" || strings.Contains(termination, "resign")) {
		return record.EndResign
	}
	return record.EndUnknown
}

// markAdjudicated sets Leela's bit in games that ended before the rules say so.
func (c *converter) markAdjudicated() {
	early := []record.EndReason{record.EndResign, record.EndTablebase, record.EndMaxPlies}
	if !slices.Contains(early, c.out.End) && !strings.Contains(strings.ToLower(c.in.Tag("Termination")), "adjudicat") {
		return
	}
	for i := range c.out.Plies {
		c.out.Plies[i].Flags |= record.Adjudicated
	}
	if c.out.End == record.EndMaxPlies {
		c.out.Flags |= record.MaxPliesHit
	}
}

// idDomain separates the ids of imported games from other hashes.
const idDomain = "chessbrain pgn game 1\x00"

// GameID returns the id of a PGN game: the first 16 bytes of the SHA-256 of
// "chessbrain pgn game 1" and of the start FEN, the result and every tag's name
// and value (sorted by name), each followed by a zero byte, and the moves as
// little-endian 16-bit words (record.Ply.Move). Comments, variations and the way
// the text is set do not count: an annotated copy is the same game. A copy with
// other tags is another one.
func GameID(g *pgn.Game) [16]byte {
	buf := append([]byte(idDomain), g.Start.ShredderFEN()...)
	buf = append(append(append(buf, 0), g.Result...), 0)
	tags := slices.Clone(g.Tags)
	slices.SortStableFunc(tags, func(a, b [2]string) int { return slices.Compare([]byte(a[0]), []byte(b[0])) })
	for _, t := range tags {
		buf = append(append(buf, t[0]...), 0)
		buf = append(append(buf, t[1]...), 0)
	}
	for _, m := range g.Moves {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(m))
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// tagsMagic opens the tags in record.Game.Extra.
const tagsMagic = "PGN1"

// AppendTags appends the tags of a PGN game as the bytes that an imported game
// keeps in record.Game.Extra:
//
//	magic   4   "PGN1"
//	number      varint: tags that follow, in file order
//	tag         name: varint length, bytes | value: varint length, bytes
//
// varint is the unsigned base-128 form. No tags are no bytes at all.
func AppendTags(dst []byte, tags [][2]string) []byte {
	if len(tags) == 0 {
		return dst
	}
	dst = append(dst, tagsMagic...)
	dst = binary.AppendUvarint(dst, uint64(len(tags)))
	for _, t := range tags {
		for _, s := range t {
			dst = binary.AppendUvarint(dst, uint64(len(s)))
			dst = append(dst, s...)
		}
	}
	return dst
}
