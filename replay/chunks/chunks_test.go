package chunks

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// game plays moves from the start position; 3/4 of the visits are the move
// played, the rest the first other move.
func game(t *testing.T, ordinal uint64, result int8, end record.EndReason, moves ...string) *record.Game {
	t.Helper()
	g := &record.Game{ID: record.GameID(1, 1, ordinal), NetID: "n", End: end, WhiteResult: result}
	b := chess.StartBoard()
	v := encoding.QDM{Q: .25, D: .5, M: 30}
	for _, s := range moves {
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		var l chess.MoveList
		b.GenerateMoves(&l)
		p := record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Visits: 41, Weight: 1, Flags: record.FullSearch,
			Root: v, Best: v, Played: v, Orig: encoding.UnknownQDM}
		p.Counts[l.Index(m)] = 30
		p.Counts[slices.IndexFunc(l.Slice(), func(o chess.Move) bool { return o != m })] = 10
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	return g
}

// three games: black mates, a resignation, a draw cut short.
func three(t *testing.T) []*record.Game {
	return []*record.Game{
		game(t, 1, -1, record.EndCheckmate, "f2f3", "e7e5", "g2g4", "d8h4"),
		game(t, 2, 1, record.EndResign, "e2e4", "e7e5"),
		game(t, 3, 0, record.EndMaxPlies, "e2e4", "c7c5", "g1f3"),
	}
}

func chunkOf(t *testing.T, g *record.Game) []byte {
	t.Helper()
	for i := range g.Plies {
		if g.End == record.EndResign {
			g.Plies[i].Flags |= record.Adjudicated
		}
	}
	if g.End == record.EndMaxPlies {
		g.Flags |= record.MaxPliesHit
	}
	var buf bytes.Buffer
	if err := lc0.WriteChunk(&buf, g); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// tree has the three games as chunks, as a tar and as games of ours, and one
// file that is damaged.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i, g := range three(t) {
		data := chunkOf(t, g)
		write(t, filepath.Join(dir, "chunks", fmt.Sprintf("game_%d.gz", i)), data)
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("../run/game_%d.gz", i), Size: int64(len(data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "all.tar"), buf.Bytes())
	write(t, filepath.Join(dir, "chunks", ".hidden.gz"), []byte("no"))
	write(t, filepath.Join(dir, "bad", "torn.gz"), chunkOf(t, three(t)[0])[:100])
	write(t, filepath.Join(dir, "bad", "notes.txt"), []byte("not looked at"))
	games := replay.NewWriter(fsx.OS, filepath.Join(dir, "own"), replay.WriterOptions{NetID: "n"})
	for _, g := range three(t) {
		if err := games.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(games.Sync(), games.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same games from all four places are counted alike.
func TestTally(t *testing.T) {
	dir := tree(t)
	for _, in := range []string{"chunks", "all.tar", "own"} {
		tally := NewTally()
		problems, err := Walk(t.Context(), fsx.OS, []string{filepath.Join(dir, in)}, func(g *Game) error { tally.Add(g); return nil })
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", in, problems, err)
		}
		d := tally.Report()
		form := "V6 format 1"
		if in == "own" {
			form = "games"
		}
		if d.Games != 3 || d.WhiteWon != 1 || d.Draws != 1 || d.BlackWon != 1 || d.Rows != 9 || d.Forms[form] != 3 || d.Shares != [3]float64{1. / 3, 1. / 3, 1. / 3} {
			t.Errorf("%s: %+v", in, d)
		}
		if want := (Lengths{Sum: 9, Mean: 3, Min: 2, P10: 2, Median: 3, P90: 3, Max: 4}); d.Plies != want {
			t.Errorf("%s: lengths %+v, want %+v", in, d.Plies, want)
		}
		if d.Ends["checkmate"] != 1 || d.Ends["resign"] != 1 || d.Ends["max-plies"] != 1 {
			t.Errorf("%s: ends %v", in, d.Ends)
		}
	}
	tally := NewTally()
	problems, err := Walk(t.Context(), fsx.OS, []string{dir}, func(g *Game) error { tally.Add(g); return nil })
	if d := tally.Report(); err != nil || len(problems) != 1 || !errors.Is(problems[0], lc0.ErrCorruptRecord) || d.Games != 9 {
		t.Fatalf("%d games, problems %v, %v", d.Games, problems, err)
	}
	tally = NewTally()
	tally.Add(&Game{Rec: &record.Game{End: record.EndAborted}})
	d := tally.Report()
	var out strings.Builder
	if err := d.Write(&out); err != nil || d.Aborted != 1 || d.Shares != [3]float64{} {
		t.Errorf("%+v, %v", d, err)
	}
	const want = "games      1\nwhite won  0  0.0 %\ndraw       0  0.0 %\nblack won  0  0.0 %\nno result  1\n" +
		"plies      0  mean 0.0, min 0, 10 % 0, median 0, 90 % 0, max 0\nrows       0  positions to train on\nend        1  aborted\nform       1  games\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestStartPolicy(t *testing.T) {
	s := NewStartPolicy()
	if r := s.Report(); r.Games != 0 || r.Moves != nil {
		t.Errorf("of nothing: %+v", r)
	}
	for _, g := range three(t) {
		s.Add(&Game{Rec: g})
	}
	other := game(t, 4, 0, record.EndMaxPlies, "e2e4")
	other.Start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1"
	s.Add(&Game{Rec: other})
	r := s.Report()
	if r.Games != 3 || r.Others != 1 || len(r.Moves) != 20 {
		t.Fatalf("%+v", r)
	}
	// e2e4 has 3/4 in two games and 0 in one, f2f3 3/4 in one.
	first, second := r.Moves[0], r.Moves[1]
	if first.Move != "e2e4" || math.Abs(first.Policy-.5) > 1e-12 || math.Abs(first.Spread-math.Sqrt(.125)) > 1e-12 || math.Abs(first.Played-2./3) > 1e-12 {
		t.Errorf("%+v", first)
	}
	sum := 0.0
	for _, m := range r.Moves {
		sum += m.Policy
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(second.Policy-.25) > 1e-12 || math.Abs(r.Entropy-1.5) > 1e-9 {
		t.Errorf("sum %v, second %+v, entropy %v", sum, second, r.Entropy)
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil || !strings.HasPrefix(out.String(), "3 games from the start position, 1 others; entropy 1.50 bits\nmove  policy   spread  played\ne2e4  50.00 %  35.36   66.67 %\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestFilter(t *testing.T) {
	dir := tree(t)
	for name, c := range map[string]struct {
		f      Filter
		copied int
		failed string
	}{
		"all":       {Filter{}, 6, "map[]"},
		"result":    {Filter{Results: []int8{1, -1}}, 4, "map[result:2]"},
		"plies":     {Filter{MinPlies: 3, MaxPlies: 3}, 2, "map[plies:4]"},
		"positions": {Filter{MinPositions: 4}, 2, "map[positions:4]"},
		"version":   {Filter{Versions: []uint32{7}}, 0, "map[version:6]"},
		"format":    {Filter{Formats: []uint32{1, 3}}, 6, "map[]"},
		"end":       {Filter{Ends: []record.EndReason{record.EndResign}}, 2, "map[end:4]"},
		"start":     {Filter{StartOnly: true}, 6, "map[]"},
		"distinct":  {Filter{Distinct: true}, 3, "map[duplicate:3]"},
	} {
		r, problems, err := Copy(t.Context(), fsx.OS, []string{filepath.Join(dir, "all.tar"), filepath.Join(dir, "chunks")}, &c.f, CopyOptions{})
		if err != nil || len(problems) > 0 || r.Read != 6 || r.Copied != c.copied || fmt.Sprint(r.Failed) != c.failed {
			t.Errorf("%s: %+v, %v, %v; want %d, %s", name, r, problems, err, c.copied, c.failed)
		}
	}
}

// Copies are the same bytes, in a directory or a tar, under names that lead
// nowhere else.
func TestCopy(t *testing.T) {
	dir := tree(t)
	in := []string{filepath.Join(dir, "all.tar"), filepath.Join(dir, "chunks")}
	out := filepath.Join(dir, "out")
	if r, _, err := Copy(t.Context(), fsx.OS, in, &Filter{}, CopyOptions{Out: out}); err != nil || r.Copied != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, _, err := Copy(t.Context(), fsx.OS, in, &Filter{}, CopyOptions{Out: out + ".tar", Limit: 5}); err != nil || r.Copied != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	s, err := lc0.OpenSource(out + ".tar")
	if err != nil || s.Len() != 5 || s.Name(0) != "all/game_0.gz" || s.Name(4) != "game_1.gz" {
		t.Fatalf("%d chunks, %v", s.Len(), err)
	}
	for i, g := range three(t) {
		want := chunkOf(t, g)
		for _, name := range []string{fmt.Sprintf("game_%d.gz", i), fmt.Sprintf("all/game_%d.gz", i)} {
			if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
		if got, err := s.Packed(i); err != nil || !bytes.Equal(got, want) {
			t.Errorf("member %d: %d bytes, %v", i, len(got), err)
		}
	}
	for name, c := range map[string]struct {
		in   []string
		out  string
		want error
	}{
		"directory again": {in, out, ErrExists}, "tar again": {in, out + ".tar", ErrExists},
		"one name twice": {[]string{in[1], in[1]}, out + "2", ErrInput}, "own games": {[]string{filepath.Join(dir, "own")}, out + "3", ErrInput},
		"nothing": {[]string{t.TempDir()}, out + "4", ErrInput}, "no such file": {[]string{filepath.Join(dir, "none.gz")}, out + "5", os.ErrNotExist},
	} {
		if _, _, err := Copy(t.Context(), fsx.OS, c.in, &Filter{}, CopyOptions{Out: c.out}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for _, bad := range []string{"", "x/", "..", "a/..", "c:x.gz"} {
		if name, err := outName(&Game{Path: "t.tar", Name: bad}); err == nil {
			t.Errorf("member %q becomes %q", bad, name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Walk(ctx, fsx.OS, in, func(*Game) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
}

// Every field of a frame, as text and as JSON.
func TestFrames(t *testing.T) {
	raw, err := lc0.AppendRecords(nil, three(t)[0], lc0.Form{Version: 7, InputFormat: 3})
	if err != nil {
		t.Fatal(err)
	}
	records, err := lc0.DecodeRecords(raw)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := Frames(records)
	if err != nil || len(frames) != 4 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	var out strings.Builder
	if err := frames[1].Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"record 1\n", "position                   rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq - 0 1\n", "move                       e7e5\n",
		"version                    7\n", "input_format               3\n", "castling                   [1 128 1 128]\n", "invariance_info            0x80 black-to-move\n",
		"root_q, _d, _m             0.25 0.5 30\n", "orig_q, _d, _m             - - -\n", "result_q, result_d         1 0\n", "visits                     41\n",
		"played_idx                 322 e2e4\n", "opp_played_idx             378 g2g4\n", "probability                322 e2e4 0.75\n", "plane                      0 000000000000ff00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	text, err := json.Marshal(&frames[1])
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(text, &back); err != nil || back["visits"] != 41. || len(back["probabilities"].([]any)) != 20 {
		t.Errorf("%v: %s", err, text)
	}
	if v := back["values"].(map[string]any); fmt.Sprint(v["orig"]) != "[<nil> <nil> <nil>]" || fmt.Sprint(v["root"]) != "[0.25 0.5 30]" {
		t.Errorf("values %v", v)
	}
	frames, err = Frames(slices.Delete(slices.Clone(records), 1, 2))
	if !errors.Is(err, lc0.ErrNoGame) || len(frames) != 3 || frames[0].FEN != "" {
		t.Errorf("records that are no game: %d frames, %v", len(frames), err)
	}
	if err := frames[0].Write(io.Discard); err != nil {
		t.Error(err)
	}
}

// Three positions by hand: |Q| differences .5, 0 and unknown, divergences 0, 3.5
// and 0; weights 3/9.5 + .5, 3.5/9.5 + .5 and .5, but for tau.
func TestWeights(t *testing.T) {
	g := game(t, 1, 1, record.EndResign, "e2e4", "e7e5", "g1f3", "b8c6")
	nan := float32(math.NaN())
	for i, q := range []float32{.75, .25, nan} {
		g.Plies[i].Orig.Q = q // the best move's is .25
	}
	g.Plies[1].KLD = 3.5
	g.Plies[3].Weight = 0 // not for training
	w := NewWeights(chance.Focus{QWeight: 6, PolicyScale: 3.5, Alpha: 1, Beta: .5, Gamma: 1, Tau: .8})
	w.Add(&Game{Rec: g})
	r := w.Report()
	sum, squares := 0.0, 0.0
	for _, v := range []float64{.8, .8, .5} { // the first two are cut off at tau
		sum, squares = sum+v, squares+v*v
	}
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.Positions != 3 || r.Unknown != 1 || r.QDiff.N != 2 || r.KLD.N != 3 || len(r.Bins) != weightBins {
		t.Fatalf("%+v", r)
	}
	near("mean weight", r.Weight.Mean, sum/3)
	near("share at tau", r.AtTau, 2./3)
	near("effective", r.Effective, sum*sum/(3*squares))
	near("largest q_diff", r.QDiff.Max, .5)
	near("share of the first bin", r.Bins[0].Share, 1./3)
	near("drawn from the last bin", r.Bins[weightBins-1].Drawn, 1.6/sum)
	if empty := NewWeights(chance.Focus{}).Report(); empty.Positions != 0 || empty.Bins != nil {
		t.Errorf("of nothing: %+v", empty)
	}
}
