package exam

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/mcts"
)

const questions = 240

// heldOut returns a set of questions.
var heldOut = sync.OnceValue(func() []Question { return solved().HeldOutSet(questions, 1) })

// TestHeldOutSetBalance counts the set's kinds as documented.
func TestHeldOutSetBalance(t *testing.T) {
	const n = questions
	set := heldOut()
	if len(set) != n {
		t.Fatalf("%d questions, want %d", len(set), n)
	}
	byWDL, strong, white, pawns := map[int]int{}, 0, 0, map[int]int{}
	seen := map[string]bool{}
	for _, q := range set {
		byWDL[q.WDL]++
		if q.Strong {
			strong++
		}
		if q.Board.SideToMove() == chess.White {
			white++
		}
		if q.Piece == chess.Pawn {
			pawns[q.WDL]++
		}
		if !HeldOut(&q.Board) || over(&q.Board) {
			t.Errorf("%s is not held out, or over", q.Board.FEN())
		}
		if wdl, _, ok := solved()[q.Piece].Probe(&q.Board); !ok || wdl != q.WDL || q.Strong != (q.Board.Ours(q.Piece) != 0) {
			t.Errorf("%s: %+v does not agree with the solver", q.Board.FEN(), q)
		}
		if fen := q.Board.FEN(); seen[fen] {
			t.Errorf("%s twice", fen)
		} else {
			seen[fen] = true
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"wins", byWDL[1], n / 3}, {"draws", byWDL[0], n / 3}, {"losses", byWDL[-1], n / 3}, {"strong side to move", strong, n / 2},
		{"white to move", white, n / 2}, {"won pawn endings", pawns[1], n / 6}, {"lost", pawns[-1], n / 6}, {"drawn", pawns[0], n / 4},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	again := solved().HeldOutSet(n, 1)
	if !slices.Equal(set, again) {
		t.Error("the same seed gives another set")
	}
	if got := len(solved().HeldOutSet(101, 2)); got != 101 { // not a multiple of 24
		t.Errorf("a set of 101 has %d questions", got)
	}
}

// TestStarts holds that no start is held out or over, and their balance.
func TestStarts(t *testing.T) {
	for name, starts := range map[string][]string{"starts": solved().Starts(3000, 1), "staged": solved().StagedStarts(3000, 1)} {
		if len(starts) > 3000 || len(starts) < 2500 || (name == "starts" && len(starts) != 3000) {
			t.Errorf("%s: %d positions", name, len(starts))
		}
		seen, white, toMove := map[string]bool{}, 0, 0
		byPiece := map[chess.PieceType]int{}
		for _, fen := range starts {
			b := chesstest.Board(t, fen)
			if HeldOut(&b) || over(&b) || seen[fen] {
				t.Fatalf("%s: %s is held out, over, or there twice", name, fen)
			}
			seen[fen] = true
			if strongToMove(&b) {
				toMove++
			}
			if strongToMove(&b) == (b.SideToMove() == chess.White) {
				white++
			}
			for _, p := range Pieces {
				if b.Ours(p)|b.Theirs(p) != 0 {
					byPiece[p]++
				}
			}
		}
		n := len(starts)
		if white < n*9/20 || white > n*11/20 {
			t.Errorf("%s: white is the strong side in %d of %d", name, white, n)
		}
		if toMove < n/3 || toMove > n*2/3 {
			t.Errorf("%s: the strong side is to move in %d of %d", name, toMove, n)
		}
		for _, p := range Pieces {
			if byPiece[p] < n*3/10 {
				t.Errorf("%s: piece %d in %d of %d", name, p, byPiece[p], n)
			}
		}
	}
}

// TestStagedStarts: distances grow along a course up to each ending's longest, and so
// does the share of draws.
func TestStagedStarts(t *testing.T) {
	const n = 3000
	starts, last := solved().StagedStarts(n, 2), map[chess.PieceType]int{}
	var draws [4]int // by quarter
	for i, fen := range starts {
		b := chesstest.Board(t, fen)
		for _, p := range Pieces {
			longest := solved()[p].Longest()
			bound := 1 + solved()[chess.Pawn].Longest()*i/n
			wdl, plies, ok := solved()[p].Probe(&b)
			switch {
			case !ok:
			case wdl == 0:
				draws[i*4/len(starts)]++
			case plies > bound || bound <= longest && plies < bound:
				t.Errorf("start %d: mate in %d plies, want %d", i, plies, bound)
			default:
				last[p] = max(last[p], plies)
			}
		}
	}
	for _, p := range Pieces {
		if longest := solved()[p].Longest(); last[p] < longest-1 {
			t.Errorf("piece %d: the longest mate of the course is %d plies of %d", p, last[p], longest)
		}
	}
	if draws[0] == 0 || draws[0] > n/4/16 || draws[3] < n/4/6 || draws[3] > n/4/3 {
		t.Errorf("%v draws by quarter", draws)
	}
}

// TestHeldOutColours holds that exchanging the colours changes neither the value
// nor the half, and is undone by doing it again.
func TestHeldOutColours(t *testing.T) {
	held, seen := 0, 0
	for p := range solved()[chess.Pawn].All {
		if seen++; seen%53 != 0 {
			continue
		}
		other := p.Board.Recoloured()
		if back := other.Recoloured(); back != p.Board || other.SideToMove() == p.Board.SideToMove() {
			t.Fatalf("%s -> %s -> %s", p.Board.FEN(), other.FEN(), back.FEN())
		}
		if HeldOut(&p.Board) != HeldOut(&other) {
			t.Fatalf("%s is in another half than %s", p.Board.FEN(), other.FEN())
		}
		if wdl, plies, ok := solved().Probe(&other); !ok || wdl != p.WDL || plies != p.Plies {
			t.Fatalf("%s: %d in %d, want %d in %d", other.FEN(), wdl, plies, p.WDL, p.Plies)
		}
		if HeldOut(&p.Board) {
			held++
		}
	}
	if share := float64(held) / float64(seen/53); share < .09 || share > .11 { // 6000 draws: 0.1 +- 0.004
		t.Errorf("%.3f of the positions are held out, want a tenth", share)
	}
}

// TestHeldOutSymmetry holds that no mirror image of a held-out position may be a
// start.
func TestHeldOutSymmetry(t *testing.T) {
	for fen, image := range map[string]string{
		"8/8/3k4/8/8/1P6/8/2K5 w - - 0 1": "8/8/4k3/8/8/6P1/8/5K2 w - - 0 1", // files flipped
		"8/8/3k4/8/8/1R6/8/2K5 b - - 0 1": "2K5/8/1R6/8/8/3k4/8/8 b - - 0 1", // ranks mirrored
		"k7/8/8/3K4/8/8/8/4Q3 w - - 0 1":  "k7/8/8/3K4/7Q/8/8/8 w - - 0 1",   // transposed
	} {
		a, b := chesstest.Board(t, fen), chesstest.Board(t, image)
		if canonical(&a) != canonical(&b) {
			t.Errorf("%s and %s have numbers %d and %d", fen, image, canonical(&a), canonical(&b))
		}
	}
	other := chesstest.Board(t, "8/8/3k4/8/8/1P6/8/3K4 w - - 0 1")
	pawn := chesstest.Board(t, "8/8/3k4/8/8/1P6/8/2K5 w - - 0 1")
	if canonical(&other) == canonical(&pawn) {
		t.Error("different positions have one number")
	}
}

// TestWalked: a question counts as walked through where a game, or the mirror image of
// one, went; questions of other endings and boards with more men do not.
func TestWalked(t *testing.T) {
	walked := Walked{}
	for _, fen := range []string{"8/8/3k4/8/8/1P6/8/2K5 w - - 0 1", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "8/8/3k4/8/8/1N6/8/2K5 w - - 0 1"} {
		b := chesstest.Board(t, fen)
		walked.Add(&b)
	}
	set := []Question{{Board: chesstest.Board(t, "8/8/4k3/8/8/6P1/8/5K2 w - - 0 1")}, {Board: chesstest.Board(t, "8/8/3k4/8/8/1P6/8/3K4 w - - 0 1")}}
	walked.Mark(set)
	if len(walked) != 1 || !set[0].Walked || set[1].Walked {
		t.Errorf("%d positions, questions %+v", len(walked), set)
	}
	r, err := Values(t.Context(), constant{0, 1, 0}, set)
	if err != nil || r.Net != (Count{2, 2}) || r.NotWalked != (Count{1, 1}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestValues asks nets whose right answers are known.
func TestValues(t *testing.T) {
	const n = questions
	set := heldOut()
	for _, c := range []struct {
		name  string
		net   mcts.Evaluator
		right int
	}{
		{"oracle", oracle{solved()}, n}, {"always win", constant{1, 0, 0}, n / 3}, {"always draw", constant{.3, .4, .3}, n / 3},
		{"always loss", constant{0, 0, 1}, n / 3}, {"uniform", constant{1. / 3, 1. / 3, 1. / 3}, n / 3},
	} {
		r, err := Values(t.Context(), c.net, set)
		if err != nil {
			t.Fatal(err)
		}
		if r.Net != (Count{c.right, n}) {
			t.Errorf("%s: %+v, want %d", c.name, r.Net, c.right)
		}
		if r.Rule != (Count{n * 2 / 3, n}) { // wrong on draws only
			t.Errorf("%s: rule %+v", c.name, r.Rule)
		}
		asked, right := 0, 0
		for _, p := range Pieces {
			asked, right = asked+r.ByEnding[endings[p]].Asked, right+r.ByEnding[endings[p]].Right
		}
		diagonal := r.Confusion[0][0] + r.Confusion[1][1] + r.Confusion[2][2]
		if asked != n || right != c.right || diagonal != c.right {
			t.Errorf("%s: parts %d of %d, diagonal %d", c.name, right, asked, diagonal)
		}
	}
	if _, err := Values(t.Context(), broken{}, set); !errors.Is(err, errBroken) {
		t.Errorf("a broken net: %v", err)
	}
	if r, err := Values(t.Context(), constant{}, nil); err != nil || r.Net.Asked != 0 || r.Rule.Asked != 0 {
		t.Errorf("no questions: %+v, %v", r, err)
	}
}

var errBroken = errors.New("broken")

// broken is a net that fails.
type broken struct{}

func (broken) Evaluate(context.Context, *encoding.Batch) error { return errBroken }

// options are those of a quick exam.
func options(visits int) MateOptions {
	search := mcts.DefaultConfig()
	search.Simulations = visits
	return MateOptions{Search: search, Moves: 50, Seed: 1}
}

// TestMates lets a net that knows the tables win everything, no later than the
// solver says, and one that knows nothing win little.
func TestMates(t *testing.T) {
	for _, piece := range Pieces {
		r, err := solved().Mates(t.Context(), oracle{solved()}, piece, 20, options(4))
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, b := range wonPositions(solved()[piece], 20, 1) {
			_, plies, _ := solved().Probe(&b)
			most += plies
		}
		if r.Mated != r.Played || r.Played != 20 || r.Plies != most {
			t.Errorf("piece %d: %+v, want all 20 in %d plies", piece, r, most)
		}
	}
	r, err := solved().Mates(t.Context(), constant{1. / 3, 1. / 3, 1. / 3}, chess.Rook, 20, options(4))
	if err != nil || r.Played != 20 || r.Mated > 10 {
		t.Errorf("a net that knows nothing: %+v, %v", r, err)
	}
}

func TestMatesErrors(t *testing.T) {
	if _, err := solved().Mates(t.Context(), broken{}, chess.Queen, 2, options(4)); !errors.Is(err, errBroken) {
		t.Errorf("a broken net: %v", err)
	}
	if _, err := solved().Mates(t.Context(), constant{}, chess.Queen, 2, options(0)); err == nil {
		t.Error("a search without an end was begun")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := solved().Mates(ctx, constant{0, 1, 0}, chess.Queen, 2, options(4)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestLongestDefence holds the defender's choice: a draw if there is one, else
// the latest mate, also after a promotion.
func TestLongestDefence(t *testing.T) {
	for _, c := range []struct{ fen, want string }{
		{"8/8/8/8/8/8/1R2K3/k7 b - - 0 1", "a1b2"}, // takes the rook
		{"8/2p5/8/8/8/5k2/8/2K5 w - - 0 1", ""},    // lost: any of the longest
		{"1Q6/8/k7/8/8/8/4K3/8 b - - 0 1", ""},     // a queen, as after a promotion
		{"8/8/8/3k4/8/3K4/3P4/8 b - - 0 1", ""},
	} {
		b := chesstest.Board(t, c.fen)
		var list chess.MoveList
		b.GenerateMoves(&list)
		got := solved().longestDefence(&b, &list)
		if c.want != "" && b.UCI(got, false) != c.want {
			t.Errorf("%s: %s, want %s", c.fen, b.UCI(got, false), c.want)
		}
		before, plies, ok := solved().Probe(&b)
		child := b
		child.Make(got)
		if after, left, _ := solved().Probe(&child); !ok || before == -1 && (after != 1 || left != plies-1) || before == 0 && after != 0 {
			t.Errorf("%s: %s: value %d in %d, before it %d in %d", c.fen, b.UCI(got, false), after, left, before, plies)
		}
	}
}
