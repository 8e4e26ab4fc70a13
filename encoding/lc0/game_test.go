package lc0

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/record"
)

// again makes a game of raw records and records of the game.
func again(t *testing.T, raw []byte) (*record.Game, []byte) {
	t.Helper()
	records, err := DecodeRecords(raw)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Game(records)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	if g, _, err = record.Decode(stored); err != nil {
		t.Fatal(err)
	}
	return g, bytesOf(t, g, Form{})
}

// uciOf returns a game's moves, castling as king takes rook.
func uciOf(t *testing.T, g *record.Game) string {
	t.Helper()
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i := range g.Plies {
		words = append(words, b.UCI(g.Plies[i].Move, true))
		b.Make(g.Plies[i].Move)
	}
	return strings.Join(words, " ")
}

// A game that lc0 wrote (100 visits, random net): its moves, its policies as
// counts, and its bytes again, best_idx too.
func TestGameOfLeela(t *testing.T) {
	raw := unzip(t, filepath.Join("testdata", "game_000007.gz"))
	g, back := again(t, raw)
	if moves := uciOf(t, g); moves != "e2e4 d7d5 e4e5 b7b5 b2b4 g8f6 c2c4 c8g4 d1g4 d8c8 g4c8" {
		t.Errorf("moves %s", moves)
	}
	if !bytes.Equal(back, raw) {
		t.Errorf("the bytes differ: %v", differences(raw, back))
	}
	if g.Start != "" || g.End != record.EndCheckmate || g.WhiteResult != 1 || g.Flags != record.Imported || g.Results != nil {
		t.Errorf("start %q, %s, result %d, flags %#x, outcomes %v", g.Start, g.End, g.WhiteResult, g.Flags, g.Results)
	}
	for i, p := range g.Plies {
		sum := uint32(0)
		for _, n := range p.Counts {
			sum += n
		}
		if p.Kind != record.PolicyCounts || sum != p.Visits-1 || p.Weight != 1 || p.Flags&record.FullSearch == 0 {
			t.Errorf("ply %d: kind %d, %d counted of %d visits, weight %v, flags %#x", i, p.Kind, sum, p.Visits, p.Weight, p.Flags)
		}
	}
	g2, _ := again(t, raw)
	if g.ID == [16]byte{} || g.ID != g2.ID {
		t.Errorf("ids %x and %x", g.ID, g2.ID)
	}
}

// differences returns in how many records each field differs.
func differences(want, got []byte) map[string]int {
	different := map[string]int{}
	if len(want) != len(got) {
		different["length"]++
		return different
	}
	for at := 0; at < len(want); at += V6Size {
		last := ""
		for i := range min(V6Size, len(want)-at) {
			if field := fieldAt(i); got[at+i] != want[at+i] && field != last {
				different[field]++
				last = field
			}
		}
	}
	return different
}

// Ten games of Leela: result and moves as listed, every byte again.
func TestSharedGames(t *testing.T) {
	dir := golden.Path(t, "leela", "games")
	index, err := os.Open(filepath.Join(dir, "games.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	results := map[string]int8{"whitewon": 1, "draw": 0, "blackwon": -1}
	games := 0
	for sc := bufio.NewScanner(index); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		raw := unzip(t, filepath.Join(dir, cols[0]))
		g, back := again(t, raw)
		if moves := uciOf(t, g); moves != cols[2] {
			t.Errorf("%s: moves %s, want %s", cols[0], moves, cols[2])
		}
		if want, ok := results[cols[1]]; !ok || g.WhiteResult != want {
			t.Errorf("%s: result %d, want %s", cols[0], g.WhiteResult, cols[1])
		}
		if !bytes.Equal(back, raw) {
			t.Errorf("%s: the bytes differ: %v", cols[0], differences(raw, back))
		}
		t.Logf("%s: %d plies, %s, %d bytes of extra", cols[0], len(g.Plies), g.End, len(g.Extra))
		games++
	}
	if games != 10 {
		t.Errorf("%d games, want 10", games)
	}
}

// line plays random legal moves from a start; each ply is a search in full.
func line(rng *rand.Rand, start chess.Board, plies int, flags record.GameFlags) *record.Game {
	g := &record.Game{NetID: "n", End: record.EndMaxPlies, Flags: flags}
	if start != chess.StartBoard() {
		g.Start = start.FEN()
	}
	h := chess.NewHistory(start)
	for {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if over := h.Terminal(l.N); over != chess.NotOver { // the last ply may end the game, too
			if g.End = record.EndOf(over); over == chess.Checkmate {
				g.WhiteResult = int8(2*int(h.Board().SideToMove()) - 1)
			}
			break
		}
		if len(g.Plies) == plies {
			break
		}
		p := randomPly(rng, &l)
		g.Plies = append(g.Plies, p)
		h.Push(p.Move)
	}
	return g
}

func randomPly(rng *rand.Rand, l *chess.MoveList) record.Ply {
	value := func() encoding.QDM {
		q := 2*rng.Float32() - 1
		return encoding.QDM{Q: q, D: (1 - float32(math.Abs(float64(q)))) * .9 * rng.Float32(), M: 100 * rng.Float32()}
	}
	p := record.Ply{Move: l.Moves[rng.IntN(l.N)], Weight: 1, Flags: record.FullSearch, Visits: 51, KLD: rng.Float32(),
		Root: value(), Best: value(), Played: value(), Orig: value()}
	if rng.IntN(8) == 0 {
		p.Orig = encoding.UnknownQDM
	}
	if l.N == 1 || rng.IntN(4) > 0 {
		p.Kind, p.Counts = record.PolicyCounts, make([]uint32, l.N)
		for range 50 {
			p.Counts[rng.IntN(l.N)]++
		}
		return p
	}
	p.Kind, p.Probs = record.PolicyProbs, make([]float32, l.N)
	sum := float32(0)
	for j := range p.Probs {
		p.Probs[j] = rng.Float32()
		sum += p.Probs[j]
	}
	for j := range p.Probs {
		p.Probs[j] /= sum
	}
	return p
}

// starts of the random games: normal, Chess960, with an en-passant right,
// without castling or pawns, next to promotion.
var starts = []string{
	chess.StartFEN,
	"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 1",
	"1r3k1r/8/8/8/8/8/8/1R3K1R b HBhb - 3 1",
	"rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 1",
	"rnbqkbnr/pppp1ppp/8/8/3PpP2/8/PPP1P1PP/RNBQKBNR b KQkq d3 0 1",
	"3r4/4k3/8/1K6/8/5n2/8/3R1B2 w - - 7 1",
	"8/8/2k5/8/8/3K4/8/QR6 b - - 0 1",
	"4k3/PPP4p/8/8/8/8/pp4PP/4K3 w - - 0 1",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
}

// Our own games in every input format and both versions: the same game comes
// back, moves and all, and from it the same bytes.
func TestGameRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 3))
	rounds, plies := 2, 60
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		for _, fen := range starts {
			start := chesstest.Board(t, fen)
			flags := record.GameFlags(0)
			if start.Castles960() {
				flags = record.Chess960
			}
			g := line(rng, start, plies, flags)
			for _, format := range InputFormats() {
				for _, version := range []uint32{v6Version, v7Version} {
					if format == formatClassical && flags != 0 {
						continue
					}
					checkSameGame(t, g, Form{Version: version, InputFormat: format}, seed)
				}
			}
		}
	}
}

func checkSameGame(t *testing.T, g *record.Game, form Form, seed uint64) {
	t.Helper()
	raw := bytesOf(t, g, form)
	if len(raw) != len(g.Plies)*RecordSize(form.Version) {
		t.Fatalf("seed %d: %d bytes of %d plies", seed, len(raw), len(g.Plies))
	}
	got, back := again(t, raw)
	if !bytes.Equal(back, raw) {
		t.Fatalf("seed %d, %+v, start %q: the bytes differ: %v", seed, form, g.Start, differences(raw, back))
	}
	if got.Start != g.Start || got.WhiteResult != g.WhiteResult || got.Flags&^record.Imported != g.Flags || len(got.Plies) != len(g.Plies) {
		t.Fatalf("seed %d, %+v: start %q, result %d, flags %#x, %d plies; want %q, %d, %#x, %d", seed, form,
			got.Start, got.WhiteResult, got.Flags, len(got.Plies), g.Start, g.WhiteResult, g.Flags, len(g.Plies))
	}
	for i := range g.Plies {
		a, b := got.Plies[i], g.Plies[i]
		a.Orig, b.Orig = known(a.Orig, encoding.QDM{Q: -2}), known(b.Orig, encoding.QDM{Q: -2}) // NaN is not equal to itself
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d, %+v: ply %d is %+v, want %+v", seed, form, i, a, b)
		}
	}
}

// Moves before the first trained row, and rows between that are not trained on.
func TestGameLeadingPlies(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	none := encoding.UnknownQDM
	for _, format := range InputFormats() {
		for lead := range 10 {
			g := line(rng, chess.StartBoard(), 40, 0)
			for len(g.Plies) <= lead { // a quick mate has nothing behind it
				g = line(rng, chess.StartBoard(), 40, 0)
			}
			for i := range g.Plies {
				if i < lead || i > lead && rng.IntN(3) == 0 {
					g.Plies[i] = record.Ply{Move: g.Plies[i].Move, Root: none, Best: none, Played: none, Orig: none}
				}
			}
			raw := bytesOf(t, g, Form{InputFormat: format})
			got, back := again(t, raw)
			if !bytes.Equal(back, raw) {
				t.Fatalf("seed %d, format %d, lead %d: the bytes differ: %v", seed, format, lead, differences(raw, back))
			}
			want, moves := uciOf(t, g), uciOf(t, got)
			if !strings.HasSuffix(want, moves) || format <= 2 && lead <= 7 && moves != want {
				t.Fatalf("seed %d, format %d, lead %d: moves %q, want %q", seed, format, lead, moves, want)
			}
			if format <= 2 && lead <= 7 && got.Start != "" {
				t.Errorf("seed %d, format %d, lead %d: start %q", seed, format, lead, got.Start)
			}
			skip := len(g.Plies) - len(got.Plies)
			for i := range got.Plies {
				if a, b := got.Plies[i], g.Plies[i+skip]; a.Kind != b.Kind || a.Weight != b.Weight {
					t.Fatalf("seed %d, ply %d: kind %d weight %v, want %d %v", seed, i, a.Kind, a.Weight, b.Kind, b.Weight)
				}
			}
		}
	}
}

func TestGameRefuses(t *testing.T) {
	good := written(t, mate(t))
	for name, c := range map[string]struct {
		change func(r []Record) []Record
		want   string
	}{
		"empty":            {func(r []Record) []Record { return nil }, "the chunk is empty"},
		"gap":              {func(r []Record) []Record { return append(r[:1], r[2:]...) }, "record 0: no legal move leads"},
		"played_idx":       {func(r []Record) []Record { r[0].PlayedIdx = 322; return r }, "record 0: played_idx is e2e4, but record 1 is the position after f2f3"},
		"no kings":         {func(r []Record) []Record { r[0].Planes[5] = 0; return r }, "record 0: the planes are no position"},
		"two men":          {func(r []Record) []Record { r[0].Planes[4] |= 1; return r }, "two men on a1"},
		"rights":           {func(r []Record) []Record { r[2].Castling[0] = 0; return r }, "record 2: castling bytes are [0 1 1 1], the moves leave [1 1 1 1]"},
		"side":             {func(r []Record) []Record { r[2].SideOrEP = 1; return r }, "record 2: side_to_move_or_enpassant is 1, the moves make it 0"},
		"rule50":           {func(r []Record) []Record { r[3].Rule50 = 4; return r }, "record 3: rule50_count is 4, the moves make it 0"},
		"result of a mate": {func(r []Record) []Record { r[3].ResultQ = -1; return r }, "result"},
		"legal":            {func(r []Record) []Record { r[1].Probabilities[322] = -1; return r }, "record 1: the legal move e2e4 is marked illegal"},
		"illegal":          {func(r []Record) []Record { r[1].Probabilities[0] = .5; return r }, "record 1: illegal moves have a probability"},
		"zeros":            {func(r []Record) []Record { r[1].Probabilities[0] = 0; return r }, "record 1: 1 illegal moves have probability 0"},
	} {
		_, err := Game(c.change(append([]Record(nil), good...)))
		if !errors.Is(err, ErrNoGame) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
