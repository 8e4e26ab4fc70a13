package pgn

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func FuzzRead(f *testing.F) {
	f.Add("[Event \"x\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 3 9\"]\n\n9... Kd7 {c} 10. e4 (10. Kd2) $1 1-0\n")
	f.Add("{a} 1. e4 e5 ; x\n% y\n2. 0-0 *")
	f.Add("[Variant \"Chess960\"]\n[FEN \"2k4r/8/8/8/8/8/8/1R2K1R1 w GBh - 0 1\"]\n\n1. O-O-O *")
	f.Fuzz(func(t *testing.T, text string) {
		var games []*Game
		err := Read(strings.NewReader(text), ReadOptions{}, func(g *Game) error {
			games = append(games, g)
			return nil
		})
		var bad *ReadError
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		for _, g := range games { // what was read can be written and read again
			var buf bytes.Buffer
			g.Tags = nil
			if err := Write(&buf, g); err != nil {
				t.Fatal(err)
			}
			again := 0
			err := Read(&buf, ReadOptions{}, func(h *Game) error {
				again++
				if moveText(h) != moveText(g) || h.Result != g.Result || h.Start != g.Start {
					t.Fatalf("%q: differs after writing", text)
				}
				return nil
			})
			if err != nil || again != 1 {
				t.Fatalf("%q: %d games, %v", text, again, err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	var buf bytes.Buffer
	for i := 0; i < 40; i += 2 {
		if err := Write(&buf, randomGame(rng, i)); err != nil {
			b.Fatal(err)
		}
	}
	text := buf.String()
	games := 0
	for b.Loop() {
		if err := Read(strings.NewReader(text), ReadOptions{}, func(*Game) error { games++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(games)/b.Elapsed().Seconds(), "games/s")
}
