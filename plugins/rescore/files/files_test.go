package files

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// blunderGame plays random moves that white wins, with a search at each ply; at
// one of them the mover loses what it had.
func blunderGame(t *testing.T, seed uint64, blunder int) *record.Game {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	g := &record.Game{ID: record.GameID(seed, 0, 0), NetID: "test-net", Seed: seed, End: record.EndResign, WhiteResult: 1}
	h := chess.NewHistory(chess.StartBoard())
	var list chess.MoveList
	for i := range 12 {
		h.Board().GenerateMoves(&list)
		m := list.Moves[rng.IntN(list.N)]
		p := record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, list.N), Weight: 1, Flags: record.FullSearch,
			Root: encoding.QDM{Q: 0.25, D: 0.5, M: 30}, Best: encoding.QDM{Q: 0.25, D: 0.5, M: 30}, Orig: encoding.UnknownQDM}
		p.Played = p.Best
		if i == blunder {
			p.Played.Q = -0.5
		}
		for j, mv := range list.Slice() {
			p.Counts[j] = uint32(rng.IntN(3))
			if mv == m {
				p.Counts[j] = 20
			}
			p.Visits += p.Counts[j]
		}
		p.Visits++
		g.Plies = append(g.Plies, p)
		h.Push(m)
	}
	return g
}

func writeGames(t *testing.T, dir string, games ...*record.Game) string {
	t.Helper()
	w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{NetID: "test-net", RunID: "run"})
	for _, g := range games {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, firstChunk)
}

func encoded(t *testing.T, g *record.Game) []byte {
	t.Helper()
	b, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do plans and rescores everything.
func do(t *testing.T, r *Run, out string, inputs ...string) {
	t.Helper()
	jobs, err := Plan(inputs, out)
	if err != nil {
		t.Fatal(err)
	}
	r.FS = fsx.OS
	for _, j := range jobs {
		before := filetest.Read(t, j.In)
		if err := r.Do(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(j.In); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("the input %s changed: %v", j.In, err)
		}
	}
}

var deblunder = rescore.Chain{rescore.Deblunder{Threshold: 0.5}}

func TestGames(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	games := []*record.Game{blunderGame(t, 1, 7), blunderGame(t, 2, -1), blunderGame(t, 3, 4)}
	path := writeGames(t, filepath.Join(in, "net", "p0"), games...)
	growing := strings.TrimSuffix(path, "00000001.games") + "00000002" + replay.GrowingSuffix
	whole := filetest.Read(t, path)
	filetest.Write(t, growing, whole[:len(whole)-50]) // without its footer
	r := &Run{Rescorer: deblunder}
	do(t, r, out, in)
	want := rescore.Changes{Games: 6, GamesChanged: 4, Positions: 72, Results: 2 * (8 + 5), PliesLeft: 2 * (8 + 5)}
	if r.Report.Changes != want || r.Report.Files != 2 || len(r.Report.Damage) != 0 {
		t.Errorf("%+v, want %+v", r.Report, want)
	}
	for _, name := range []string{"00000001.games", "00000002.games"} {
		got, info, err := replay.ReadChunk(fsx.OS, filepath.Join(out, "net", "p0", name))
		if err != nil || len(got) != 3 || info.Torn || len(info.Damage) > 0 || info.NetID != "test-net" || info.RunID != "run" {
			t.Fatalf("%s: %d games, %+v, %v", name, len(got), info, err)
		}
		for i, g := range games {
			expect, err := deblunder.Rescore(context.Background(), g)
			if err != nil || !bytes.Equal(encoded(t, got[i]), encoded(t, expect)) {
				t.Errorf("%s: game %d differs: %v", name, i, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(out, "net", "p0", ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A damaged block costs its games, which the report names; a file without any
// game gives no output.
func TestDamagedGames(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	path := writeGames(t, in, blunderGame(t, 1, 7))
	data := filetest.Read(t, path)
	data[len(data)/2] ^= 1
	filetest.Write(t, path, data)
	r := &Run{Rescorer: deblunder}
	do(t, r, out, path)
	if r.Report.Games != 0 || r.Report.Files != 0 || len(r.Report.Damage) < 1 || !strings.Contains(r.Report.Damage[0].Error(), path) {
		t.Errorf("%+v", r.Report)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 0 {
		t.Errorf("written: %v", entries)
	}
}

// chunkBytes is a Leela chunk of a game.
func chunkBytes(t *testing.T, g *record.Game, form lc0.Form) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := lc0.WriteChunkForm(&buf, g, form); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func writeTar(t *testing.T, path string, names []string, members [][]byte) {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i, name := range names {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(members[i]))})
		if err == nil {
			_, err = w.Write(members[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, buf.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// readTar returns the members of a tar by an independent reader.
func readTar(t *testing.T, path string) (names []string, members [][]byte) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names, members
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names, members = append(names, h.Name), append(members, b)
	}
}

func records(t *testing.T, chunk []byte) []lc0.Record {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(chunk))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	list, err := lc0.DecodeRecords(raw)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The identity gives back every byte of the records, a rescorer changes what it
// should and nothing else, in chunks and tars alike.
func TestLeela(t *testing.T) {
	in := t.TempDir()
	one, two := chunkBytes(t, blunderGame(t, 1, 7), lc0.Form{}), chunkBytes(t, blunderGame(t, 2, 4), lc0.Form{InputFormat: 3, Version: 7})
	filetest.Write(t, filepath.Join(in, "game_1.gz"), one)
	writeTar(t, filepath.Join(in, "training.tar"), []string{"a.gz", "b.gz", "c.gz"}, [][]byte{two, []byte("\x1f\x8bnothing"), one})

	out := t.TempDir()
	r := &Run{Rescorer: rescore.Chain{rescore.Identity{}}}
	do(t, r, out, in)
	if want := (rescore.Changes{Games: 3, Positions: 36}); r.Report.Changes != want || r.Report.Files != 2 || len(r.Report.Damage) != 1 {
		t.Errorf("identity: %+v, %v", r.Report, r.Report.Damage)
	}
	if b, err := os.ReadFile(filepath.Join(out, "game_1.gz")); err != nil || !bytes.Equal(b, one) {
		t.Errorf("identity changed the chunk: %v", err)
	}
	names, members := readTar(t, filepath.Join(out, "training.tar"))
	if strings.Join(names, " ") != "a.gz c.gz" || !bytes.Equal(members[0], two) || !bytes.Equal(members[1], one) {
		t.Errorf("identity changed the tar: %v", names)
	}

	out = t.TempDir()
	r = &Run{Rescorer: deblunder}
	do(t, r, out, in)
	if want := (rescore.Changes{Games: 3, GamesChanged: 3, Positions: 36, Results: 8 + 5 + 8, PliesLeft: 8 + 5 + 8}); r.Report.Changes != want {
		t.Errorf("deblunder: %+v, want %+v", r.Report.Changes, want)
	}
	_, members = readTar(t, filepath.Join(out, "training.tar"))
	before, after := records(t, two), records(t, members[0])
	for i := range before {
		want := before[i]
		if i <= 4 { // the blunder of ply 4 is white's, whose best move had 0.25
			want.ResultQ, want.ResultD, want.PliesLeft = 0.25, 0.5, 30+float32(4-i)
			if i%2 == 1 {
				want.ResultQ = -0.25
			}
		}
		want.QST, want.DST = after[i].QST, after[i].DST // version 7 follows the results
		if after[i] != want && !bytes.Equal(after[i].Append(nil), want.Append(nil)) {
			t.Errorf("record %d: %+v %+v %v", i, after[i].ResultQ, after[i].ResultD, after[i].PliesLeft)
		}
	}
}

func TestForm(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	filetest.Write(t, filepath.Join(in, "g.gz"), chunkBytes(t, blunderGame(t, 1, 7), lc0.Form{}))
	do(t, &Run{Rescorer: rescore.Chain{rescore.Identity{}}, Form: lc0.Form{Version: 7, InputFormat: 5}}, out, in)
	b := filetest.Read(t, filepath.Join(out, "g.gz"))
	if list := records(t, b); len(list) != 12 || list[3].Version != 7 || list[3].InputFormat != 5 {
		t.Errorf("%d records of version %d, format %d", len(list), list[3].Version, list[3].InputFormat)
	}
}

// What stands in the output is never written over.
func TestKeep(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	writeGames(t, in, blunderGame(t, 1, 7))
	there := filepath.Join(out, firstChunk)
	filetest.Write(t, there, "mine")
	jobs, err := Plan([]string{in}, out)
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{FS: fsx.OS, Rescorer: deblunder}
	if err := r.Do(context.Background(), jobs[0]); !errors.Is(err, ErrExists) {
		t.Errorf("existing output: %v", err)
	}
	r.Keep = true
	if err := r.Do(context.Background(), jobs[0]); err != nil || r.Report.Kept != 1 {
		t.Errorf("keep: %v, %+v", err, r.Report)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

// A rescorer that fails, and a context that ended, leave no output.
func TestFailureLeavesNothing(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	writeGames(t, in, blunderGame(t, 1, 7))
	jobs, err := Plan([]string{in}, out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &Run{FS: fsx.OS, Rescorer: deblunder}
	if err := r.Do(ctx, jobs[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v", err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	games := writeGames(t, filepath.Join(dir, "a"), blunderGame(t, 1, 7))
	writeGames(t, filepath.Join(dir, "b"), blunderGame(t, 2, 7))
	text := filepath.Join(dir, "x.txt")
	empty := filepath.Join(dir, "empty")
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(text, nil, 0o644), os.Mkdir(empty, 0o755), os.Symlink(filepath.Join(dir, "a"), link)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		want, out string
		in        []string
	}{
		{"no such file", out, []string{filepath.Join(dir, "none")}},
		{"want *.games", out, []string{text}},
		{"holds no *.games", out, []string{empty}},
		{"would both become", out, []string{games, filepath.Join(dir, "b")}},
		{"lies in the input", filepath.Join(dir, "a"), []string{filepath.Join(dir, "a")}},
		{"lies in the input", filepath.Join(link, "new", "deep"), []string{filepath.Join(dir, "a")}},
		{"over itself", filepath.Join(dir, "a"), []string{games}},
		{"over itself", link, []string{games}},
		{"is a file", text, []string{games}},
	} {
		if _, err := Plan(c.in, c.out); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v to %s: %v, want %q", c.in, c.out, err, c.want)
		}
	}
	jobs, err := Plan([]string{games, filepath.Join(dir, "b")}, filepath.Join(dir, "a-out"))
	if err == nil {
		t.Errorf("two files of one name: %v", jobs)
	}
	jobs, err = Plan([]string{link}, out) // a link to a directory is one
	if want := (Job{filepath.Join(link, filepath.Base(games)), filepath.Join(out, filepath.Base(games)), Games}); err != nil || len(jobs) != 1 || jobs[0] != want {
		t.Errorf("%v, %v, want %v", jobs, err, want)
	}
}

// Frames marked as deleted have weight 0 as positions of a game, and keep their
// mark in chunks, where the moves are read from them.
func TestDeletedFrames(t *testing.T) {
	g := blunderGame(t, 1, 7)
	g.Plies[3].Weight = 0
	in, out := t.TempDir(), t.TempDir()
	filetest.Write(t, filepath.Join(in, "g.gz"), chunkBytes(t, g, lc0.Form{}))
	do(t, &Run{Rescorer: deblunder}, out, in)
	b := filetest.Read(t, filepath.Join(out, "g.gz"))
	list := records(t, b)
	back, err := lc0.Game(list)
	if err != nil || len(list) != 12 || len(back.Plies) != 12 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for i := range list {
		deleted := list[i].Invariance&lc0.Placeholder != 0
		if deleted != (i == 3) || (back.Plies[i].Weight == 0) != deleted {
			t.Errorf("record %d: deleted %v, weight %g", i, deleted, back.Plies[i].Weight)
		}
	}
}

// lc0's own chunks come out of the identity as they went in, record by record.
func TestLeelaFiles(t *testing.T) {
	path := golden.Path(t, "leela", "games.tar")
	out := t.TempDir()
	r := &Run{Rescorer: rescore.Chain{rescore.Identity{}}}
	do(t, r, out, path)
	before, after := openLeela(t, path), openLeela(t, filepath.Join(out, "games.tar"))
	if before.Len() != 10 || after.Len() != 10 || r.Report.Games != 10 || len(r.Report.Damage) != 0 {
		t.Fatalf("%d chunks, then %d; %+v", before.Len(), after.Len(), r.Report)
	}
	for i := range before.Len() {
		a, err1 := before.Chunk(i)
		b, err2 := after.Chunk(i)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) || before.Name(i) != after.Name(i) {
			t.Errorf("chunk %s differs: %v, %v", before.Name(i), err1, err2)
		}
	}
}

func openLeela(t *testing.T, path string) *lc0.Source {
	t.Helper()
	s, err := lc0.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
