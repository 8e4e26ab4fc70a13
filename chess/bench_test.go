package chess

import "testing"

func benchPerft(b *testing.B, fen string, depth int) {
	board := mustFEN(b, fen)
	var nodes uint64
	for b.Loop() {
		nodes += Perft(&board, depth)
	}
	b.ReportMetric(float64(nodes)/b.Elapsed().Seconds()/1e6, "Mnodes/s")
}

func BenchmarkPerftStart(b *testing.B)    { benchPerft(b, StartFEN, 5) }
func BenchmarkPerftKiwipete(b *testing.B) { benchPerft(b, starts[1], 4) }

// BenchmarkGenerate writes the 48 moves of kiwipete.
func BenchmarkGenerate(b *testing.B) {
	board := mustFEN(b, starts[1])
	var l MoveList
	for b.Loop() {
		board.GenerateMoves(&l)
	}
}

// BenchmarkMake copies a board and plays each of 48 moves with key and counters.
func BenchmarkMake(b *testing.B) {
	board := mustFEN(b, starts[1])
	var l MoveList
	board.GenerateMoves(&l)
	var key uint64
	i := 0
	for b.Loop() {
		c := board
		c.Make(l.Moves[i])
		key ^= c.key
		if i++; i == l.N {
			i = 0
		}
	}
	if key == 1 {
		b.Log(key)
	}
}

// BenchmarkPush plays a move onto a line and takes it back.
func BenchmarkPush(b *testing.B) {
	h := NewHistory(mustFEN(b, starts[1]))
	var l MoveList
	h.Board().GenerateMoves(&l)
	i := 0
	for b.Loop() {
		h.Push(l.Moves[i])
		h.Truncate(1)
		if i++; i == l.N {
			i = 0
		}
	}
}
