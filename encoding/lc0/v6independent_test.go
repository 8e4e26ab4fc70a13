package lc0

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// A second reader of V6 records, written from FORMATS.md alone: it knows offsets,
// bit orders and the list of policy moves, and shares no code with the package.
// Boards are texts of 64 letters from a1 to h8, as white sees them.

// slowNames lists the 1858 policy moves.
func slowNames() []string {
	name := func(file, rank int) string { return string(rune('a'+file)) + string(rune('1'+rank)) }
	var all []string
	for from := 0; from < 64; from++ {
		for to := 0; to < 64; to++ {
			dx, dy := to%8-from%8, to/8-from/8
			queen := dx == 0 || dy == 0 || dx == dy || dx == -dy
			if to != from && (queen || dx*dx+dy*dy == 5) {
				all = append(all, name(from%8, from/8)+name(to%8, to/8))
			}
		}
	}
	for file := 0; file < 8; file++ {
		for target := file - 1; target <= file+1; target++ {
			if target >= 0 && target < 8 {
				for _, piece := range "qrb" {
					all = append(all, name(file, 6)+name(target, 7)+string(piece))
				}
			}
		}
	}
	return all
}

// slowPosition is what a FEN says, as text.
type slowPosition struct {
	board    string
	black    bool
	castling string
	ep       string
	same     string // what repetitions compare
	rule50   int
}

func slowParse(fen string) (p slowPosition) {
	f := strings.Fields(fen)
	for _, row := range strings.Split(f[0], "/") {
		text := ""
		for _, c := range row {
			if c >= '1' && c <= '8' {
				text += strings.Repeat(".", int(c-'0'))
			} else {
				text += string(c)
			}
		}
		p.board = text + p.board
	}
	p.black, p.castling, p.ep, p.same = f[1] == "b", f[2], f[3], strings.Join(f[:4], " ")
	fmt.Sscan(f[4], &p.rule50)
	return p
}

// slowPlanes writes the 104 planes of the last of a line as the file has them,
// 8 bytes each: byte r = rank r seen by the mover, most significant bit = file a.
func slowPlanes(line []slowPosition) (out [832]byte) {
	last := len(line) - 1
	black := line[last].black
	for t := 0; t < 8; t++ {
		at := last - t
		board := ""
		if at >= 0 {
			board = line[at].board
		} else if first := line[0]; at == -1 && first.ep != "-" { // the pawn goes back
			squares := []byte(first.board)
			file, step, home := int(first.ep[0]-'a'), 4, 6
			if first.black { // white's pawn, from rank 2 to 4
				step, home = 3, 1
			}
			squares[8*home+file], squares[8*step+file] = squares[8*step+file], '.'
			board = string(squares)
		} else {
			continue
		}
		for sq, c := range board {
			if c == '.' {
				continue
			}
			plane := strings.IndexRune("PNBRQKpnbrqk", c)
			rank := sq / 8
			if black {
				plane, rank = (plane+6)%12, 7-rank
			}
			out[8*(13*t+plane)+rank] |= 0x80 >> (sq % 8)
		}
		for earlier := 0; earlier < at; earlier++ {
			if line[earlier].same == line[at].same {
				copy(out[8*(13*t+12):], "\xff\xff\xff\xff\xff\xff\xff\xff")
			}
		}
	}
	return out
}

// slowCastling writes the four bytes: us O-O-O, us O-O, them O-O-O, them O-O.
func slowCastling(p slowPosition, format int) (out [4]byte) {
	for side, white := range []bool{!p.black, p.black} {
		rank, king, rook := p.board[56:], "k", "r"
		if white {
			rank, king, rook = p.board[:8], "K", "R"
		}
		home := strings.Index(rank, king)
		for _, c := range p.castling {
			letter := strings.ToLower(string(c))
			if c == '-' || (string(c) != letter) != white {
				continue
			}
			file := int(letter[0] - 'a')
			switch letter {
			case "k":
				file = strings.LastIndex(rank, rook)
			case "q":
				file = strings.Index(rank, rook)
			}
			k := 2 * side
			if file > home {
				k++
			}
			if out[k] = 1; format == 2 {
				out[k] = 1 << file
			}
		}
	}
	return out
}

// slowGame checks the records of a game, all rows of which are trained on, byte
// by byte and returns the number of positions.
func slowGame(t *testing.T, g *record.Game, raw []byte, format int, index map[string]int) int {
	t.Helper()
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	var line []slowPosition
	n := len(g.Plies)
	left := g.Plies[n-1].Best.M + float32(n) - 1
	for i := range g.Plies {
		p, r := &g.Plies[i], raw[8356*i:][:8356]
		pos := slowParse(b.FEN())
		line = append(line, pos)
		fail := func(what string, got, want any) {
			t.Fatalf("ply %d of %s: %s is %v, want %v", i, g.Start, what, got, want)
		}
		if le.Uint32(r) != 6 || le.Uint32(r[4:]) != uint32(format) {
			fail("version and format", r[:8], format)
		}
		if planes := slowPlanes(line); string(planes[:]) != string(r[7440:8272]) {
			fail("the planes", r[7440:8272], planes)
		}
		if castling := slowCastling(pos, format); string(castling[:]) != string(r[8272:8276]) {
			fail("castling", r[8272:8276], castling)
		}
		side := byte(0)
		if pos.black {
			side = 1
		}
		if want := []byte{side, byte(pos.rule50), 0, 0}; string(want) != string(r[8276:8280]) {
			fail("side, rule50, flags", r[8276:8280], want)
		}
		result := float32(g.WhiteResult)
		if pos.black && result != 0 {
			result = -result
		}
		draw := float32(0)
		if g.WhiteResult == 0 {
			draw = 1
		}
		for k, want := range []float32{p.Root.Q, p.Best.Q, p.Root.D, p.Best.D, p.Root.M, p.Best.M, left, result, draw,
			p.Played.Q, p.Played.D, p.Played.M, p.Orig.Q, p.Orig.D, p.Orig.M} {
			if got := math.Float32frombits(le.Uint32(r[8280+4*k:])); got != want && (got == got || want == want) {
				fail(fmt.Sprintf("value %d", k), got, want)
			}
		}
		left--
		moves, best := slowMoves(&b, p, index)
		for k := 0; k < 1858; k++ {
			want, legal := moves[k]
			if !legal {
				want = -1
			}
			if got := math.Float32frombits(le.Uint32(r[8+4*k:])); got != want {
				fail(fmt.Sprintf("probability %d", k), got, want)
			}
		}
		played := index[slowName(b.UCI(p.Move, true), pos.black)]
		if le.Uint32(r[8340:]) != p.Visits || int(le.Uint16(r[8344:])) != played || math.Float32frombits(le.Uint32(r[8348:])) != p.KLD || le.Uint32(r[8352:]) != 0 {
			fail("visits, played_idx, best_idx, kld, q_st", r[8340:], played)
		}
		if got := moves[int(le.Uint16(r[8346:]))]; got != best && p.Played != p.Best {
			fail("the share of best_idx", got, best)
		}
		b.Make(p.Move)
	}
	return n
}

// slowName turns a move as white sees it into the mover's view; a promotion to a
// knight is the plain move.
func slowName(uci string, black bool) string {
	s := []byte(strings.TrimSuffix(uci, "n"))
	if black {
		s[1], s[3] = '1'+'8'-s[1], '1'+'8'-s[3]
	}
	return string(s)
}

// slowMoves returns the legal moves of a ply by index with their probability,
// and the largest of all but the move played.
func slowMoves(b *chess.Board, p *record.Ply, index map[string]int) (moves map[int]float32, best float32) {
	var l chess.MoveList
	b.GenerateMoves(&l)
	sum := 0
	for _, c := range p.Counts {
		sum += int(c)
	}
	moves = map[int]float32{}
	for j, m := range l.Slice() {
		share := float32(0)
		if len(p.Probs) > 0 {
			share = p.Probs[j]
		} else {
			share = float32(p.Counts[j]) / float32(sum)
		}
		moves[index[slowName(b.UCI(m, true), b.SideToMove() == chess.Black)]] = share
		if m != p.Move || l.N == 1 {
			best = max(best, share)
		}
	}
	return moves, best
}

// 20 000 random positions with history, every byte of their records but the
// choice among equal best moves, in formats 1 and 2.
func TestIndependentReader(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 8))
	wanted := 20000
	if testing.Short() {
		wanted = 2000
	}
	index := map[string]int{}
	for i, name := range slowNames() {
		index[name] = i
	}
	if len(index) != 1858 || index["e1h1"] != 103 || index["h7h8b"] != 1857 {
		t.Fatalf("%d policy moves, e1h1 %d, h7h8b %d", len(index), index["e1h1"], index["h7h8b"])
	}
	t.Logf("seed %d", seed)
	for done, k := 0, 0; done < wanted; k++ {
		start := chesstest.Board(t, starts[k%len(starts)])
		format := 1 + k/len(starts)%2
		flags := record.GameFlags(0)
		if start.Castles960() {
			format, flags = 2, record.Chess960
		}
		g := line(rng, start, 120, flags)
		if len(g.Plies) == 0 {
			continue
		}
		raw := bytesOf(t, g, Form{InputFormat: uint32(format)})
		done += slowGame(t, g, raw, format, index)
	}
}
