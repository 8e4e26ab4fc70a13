package shuffle

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
)

// TestUniform shuffles four rows of two games with many seeds: all 24 orders
// must come equally often, in one file, in two and in four.
func TestUniform(t *testing.T) {
	const perOrder = 30
	m := memfs.New()
	var games []*record.Game
	for o := uint64(0); len(games) < 2; o++ {
		if g := testGame(o, 2); isTrain(g) {
			games = append(games, g)
		}
	}
	writeGames(t, m, "run/selfplay/a/p0", games[:1])
	writeGames(t, m, "run/selfplay/b/p0", games[1:])
	rows := rowStrings(t, games, isTrain)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, c := range []struct {
		perFile int64
		files   int
	}{{100, 1}, {2, 2}, {1, 4}} {
		count := map[string]int{}
		for seed := range uint64(24 * perOrder) {
			o := testOptions(m)
			o.Seed, o.RowsPerFile, o.Threads = seed, c.perFile, 1
			manifest, train, _ := shuffled(t, o)
			if manifest.TrainFiles != c.files {
				t.Fatalf("layout %+v, want %d files", manifest.layout, c.files)
			}
			order := ""
			for _, row := range train {
				order += fmt.Sprint(slices.Index(rows, row))
			}
			count[order]++
			if err := fsx.RemoveAll(m, o.OutputDir); err != nil {
				t.Fatal(err)
			}
		}
		chi := 0.0
		for _, n := range count {
			chi += float64((n-perOrder)*(n-perOrder)) / perOrder
		}
		chi += float64(24-len(count)) * perOrder
		// 23 degrees of freedom: 69.5 is exceeded once in a million. The seeds are
		// fixed, so the test gives the same number each time.
		if chi > 69.5 {
			t.Errorf("%d files: chi-square %.1f of 23 degrees, orders %v", c.files, chi, count)
		}
	}
}

// TestBucketsUniform spreads many rows over several buckets a file: each bucket
// has its share, and no game or ply prefers one.
func TestBucketsUniform(t *testing.T) {
	m := memfs.New()
	games := testGames(0, 80, 40)
	writeGames(t, m, "run/selfplay/a/p0", games)
	o := testOptions(m)
	o.Validation = 0
	o.RowsPerFile = 200
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	p, _, err := o.plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p.BucketsPerFile = 2
	if err := fsx.MkdirAll(m, "scratch"); err != nil {
		t.Fatal(err)
	}
	s, err := o.spreadInputs(context.Background(), p, "scratch")
	if err != nil {
		t.Fatal(err)
	}
	chi, mean := 0.0, float64(p.Used)/float64(p.buckets())
	for _, b := range s.Buckets {
		chi += (float64(b.Rows) - mean) * (float64(b.Rows) - mean) / mean
	}
	if p.buckets() != 24 { // 2320 rows: 12 files of 2 buckets
		t.Fatalf("%d buckets for %d rows", p.buckets(), p.Used)
	}
	// 23 degrees of freedom: 69.5 is exceeded once in a million.
	if chi > 69.5 {
		t.Errorf("chi-square %.1f: %v", chi, s.Buckets)
	}
}
