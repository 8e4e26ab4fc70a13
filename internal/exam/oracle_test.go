package exam

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// solved holds the tables that all tests use.
var solved = sync.OnceValue(Solve)

// oracle is a net that knows the tables: WDL is the result, M the distance, and
// nearly all prior lies on the first move that mates soonest. Positions that the
// tables do not have are draws with flat priors. It reads the position from the
// planes of the newest step, so that it holds the encoding of rows as well.
type oracle struct{ tables Tables }

func (o oracle) Evaluate(_ context.Context, batch *encoding.Batch) error {
	for row := range batch.N {
		board, err := boardOfRow(batch, row)
		if err != nil {
			return err
		}
		wdl, plies, _ := o.tables.Probe(&board)
		batch.WDL[row] = [3]float32{}
		batch.WDL[row][1-wdl] = 1
		batch.M[row] = float32(plies)
		o.prefer(batch.PriorOf(row), &board)
	}
	return nil
}

// prefer fills the priors of a board's legal moves.
func (o oracle) prefer(prior []float32, b *chess.Board) {
	var list chess.MoveList
	b.GenerateMoves(&list)
	best, bestPlies := 0, 1<<20
	for k, m := range list.Slice() {
		prior[k] = 0.01 / float32(list.N)
		child := *b
		child.Make(m)
		if wdl, plies, ok := o.tables.Probe(&child); ok && wdl == -1 && plies < bestPlies {
			best, bestPlies = k, plies
		}
	}
	prior[best] = 0.99
}

// boardOfRow builds the position of a row without castling rights.
func boardOfRow(batch *encoding.Batch, row int) (chess.Board, error) {
	var squares [64]byte
	for plane := range 12 {
		for sq := range 64 {
			if batch.Masks[row][plane]>>sq&1 == 1 {
				squares[sq] = "PNBRQKpnbrqk"[plane]
			}
		}
	}
	var fen strings.Builder
	for rank := 7; rank >= 0; rank-- {
		empty := 0
		for _, c := range squares[rank*8 : rank*8+8] {
			if c == 0 {
				empty++
				continue
			}
			if empty > 0 {
				fmt.Fprint(&fen, empty)
			}
			empty = 0
			fen.WriteByte(c)
		}
		if empty > 0 {
			fmt.Fprint(&fen, empty)
		}
		if rank > 0 {
			fen.WriteByte('/')
		}
	}
	b, err := chess.ParseFEN(fen.String() + " w - - 0 1")
	if batch.Scalars[row].BlackToMove == 1 {
		b = b.Recoloured()
	}
	return b, err
}

// constant is a net with one answer for everything.
type constant [3]float32

func (c constant) Evaluate(_ context.Context, batch *encoding.Batch) error {
	for row := range batch.N {
		batch.WDL[row], batch.M[row] = c, 1
		prior := batch.PriorOf(row)
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
	}
	return nil
}
