package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

const testBatch = 16

func testWindow(games, plies int) *Window {
	w := NewWindow(1 << 20)
	for _, g := range testGames(0, uint64(games), plies) {
		w.Add(g)
	}
	return w
}

// rowsOf copies what a batch's rows hold.
func rowsOf(b *encoding.TrainBatch) (rows []string) {
	for i := range b.N {
		rows = append(rows, fmt.Sprint(b.Masks[i], b.Scalars[i], b.LegalOf(i), b.PolicyOf(i), b.Targets[i], b.Weight[i]))
	}
	return rows
}

// draw returns the rows of n batches.
func draw(t *testing.T, src interface {
	Next(context.Context, *encoding.TrainBatch) error
}, n int) (rows []string) {
	t.Helper()
	b := encoding.NewTrainBatch(testBatch)
	for range n {
		b.Reset()
		if err := src.Next(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		if b.N != testBatch {
			t.Fatalf("%d rows, want %d", b.N, testBatch)
		}
		rows = append(rows, rowsOf(b)...)
	}
	return rows
}

func saved(t *testing.T, s stage.Section) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := s.Save(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestSourceRows: every row is what record says of its position, and only
// positions meant for training come.
func TestSourceRows(t *testing.T) {
	w := testWindow(3, 9)
	possible := map[string]bool{}
	var r record.Replayer
	for i := range 3 {
		g := w.View().GameRecord(i)
		for ply := range g.Plies {
			b := encoding.NewTrainBatch(1)
			if err := r.AppendRow(b, g, ply); err != nil {
				t.Fatal(err)
			}
			b.Weight[0] = 1 // drawn in proportion to its weight, it counts 1
			if rowWeight(&g.Plies[ply]) > 0 {
				possible[rowsOf(b)[0]] = false
			}
		}
	}
	src := NewSource(w, sample.NewUniform(), 1, 2)
	for _, row := range draw(t, src, 30) {
		if _, ok := possible[row]; !ok {
			t.Fatalf("a row that no position for training has: %s", row)
		}
		possible[row] = true
	}
	for row, seen := range possible { // 480 draws of at most 3*6 rows, weight >= 1/12 of a game: a miss has p < 1e-7
		if !seen {
			t.Errorf("never drawn: %s", row)
		}
	}
	if src.Rows() != 30*testBatch {
		t.Errorf("%d rows counted", src.Rows())
	}
}

// TestSamplerStatistics: rows come in proportion to their weights. The chi-square
// statistic of 200 000 draws stays below its 99.99 % quantile (normal
// approximation: k + 3.72*sqrt(2k) for k degrees of freedom); the seed is fixed.
func TestSamplerStatistics(t *testing.T) {
	const draws = 200_000
	v := testWindow(40, 20).View()
	refs, _, err := sample.NewUniform().Sample(context.Background(), stage.Draw{Seed: 11, Stream: 3, Index: v, Rows: draws}, nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[stage.RowRef]float64{}
	for _, ref := range refs {
		counts[ref]++
	}
	chi2 := func(weight func(stage.RowInfo) float64, sum float64) float64 {
		total := 0.0
		for i := range v.NumGames() {
			for k := range v.Game(i).NumRows {
				row := v.Row(i, k)
				want := draws * weight(row) / sum
				d := counts[stage.RowRef{Game: v.Game(i).Seq, Ply: row.Ply, Weight: 1}] - want
				total += d * d / want
			}
		}
		return total
	}
	dof := float64(v.NumRows() - 1)
	limit := dof + 3.72*math.Sqrt(2*dof)
	if got := chi2(func(r stage.RowInfo) float64 { return float64(r.Weight) }, float64(v.WeightSum())); got > limit {
		t.Errorf("chi-square %.0f, above %.0f for %.0f degrees of freedom", got, limit, dof)
	}
	// The test can fail: the same draws do not look unweighted.
	if got := chi2(func(stage.RowInfo) float64 { return 1 }, float64(v.NumRows())); got < limit {
		t.Errorf("chi-square against equal weights is %.0f, below %.0f", got, limit)
	}
}

// TestSourceResume: a new source over the same games, loaded with the cursor,
// goes on with the same rows.
func TestSourceResume(t *testing.T) {
	src := NewSource(testWindow(20, 15), sample.NewUniform(), 7, 1)
	draw(t, src, 3)
	state := saved(t, src.Section())
	want := draw(t, src, 4)

	again := NewSource(testWindow(20, 15), sample.NewUniform(), 0, 0)
	draw(t, again, 1)
	if err := again.Section().Load(bytes.NewReader(state), 1); err != nil {
		t.Fatal(err)
	}
	if got := draw(t, again, 4); !reflect.DeepEqual(got, want) {
		t.Error("other rows after loading the cursor")
	}
	if again.Rows() != src.Rows() {
		t.Errorf("%d rows counted, want %d", again.Rows(), src.Rows())
	}
	other := NewSource(testWindow(20, 15), sample.NewUniform(), 8, 1)
	draw(t, other, 3)
	if reflect.DeepEqual(draw(t, other, 4), want) {
		t.Error("another seed gave the same rows")
	}
	for _, bad := range []string{"", "{}", `{"sampler":"uniform","sampler_version":2,"sampler_state":"AAAA"}`} {
		if err := again.Section().Load(bytes.NewReader([]byte(bad)), 1); err == nil {
			t.Errorf("section %q was loaded", bad)
		}
	}
	if err := again.Section().Load(bytes.NewReader(state), 99); err == nil {
		t.Error("an unknown version was loaded")
	}
	broken := `{"sampler":"uniform","sampler_version":1,"sampler_state":"AAAA"}`
	if err := errors.Join(again.Check(t.Context()), again.Section().Load(strings.NewReader(broken), 1)); err != nil {
		t.Error(err)
	}
	if err := again.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "sampler uniform: ") {
		t.Errorf("a broken state: %v", err)
	}
}

// named is a uniform sampler of another name.
type named struct {
	stage.Sampler
	name   string
	broken error // of Sample
}

func (n named) Name() string { return n.name }
func (n named) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if n.broken != nil {
		return dst, nil, n.broken
	}
	return n.Sampler.Sample(ctx, d, dst)
}

// TestSourceForeign: another sampler's state is left alone, the count of rows goes
// on, and the sampler's own state depends on nothing else.
func TestSourceForeign(t *testing.T) {
	src := testSource(testWindow(20, 15))
	draw(t, src, 3)
	state := saved(t, src.Section())
	other := func() *Source {
		return NewSource(testWindow(20, 15), named{Sampler: sample.NewUniform(), name: "other"}, 7, 1)
	}
	a, b := other(), other()
	first := draw(t, b, 3)
	for _, s := range []*Source{a, b} {
		if err := s.Section().Load(bytes.NewReader(state), 1); err != nil || s.Foreign() != "uniform" || s.Rows() != 3*testBatch {
			t.Fatalf("%v; foreign %q, %d rows", err, s.Foreign(), s.Rows())
		}
	}
	want := draw(t, a, 3)
	if !reflect.DeepEqual(draw(t, b, 3), want) || reflect.DeepEqual(want, first) {
		t.Error("the state of its own depends on what was drawn before, or is that of the beginning")
	}
	own := saved(t, a.Section())
	if err := a.Section().Load(bytes.NewReader(own), 1); err != nil || a.Foreign() != "" {
		t.Errorf("its own state: %v, foreign %q", err, a.Foreign())
	}
}

// fading is a sampler that fails for good, and in whose place uniform stands then.
type fading struct {
	named
	fail, gone bool
}

func (f *fading) Name() string {
	if f.gone {
		return "uniform"
	}
	return f.name
}

func (f *fading) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if f.fail && !f.gone {
		f.gone, d.State = true, nil
	}
	return f.named.Sample(ctx, d, dst)
}

// TestSourceStandIn: where a sampler's plugin fails for good and another sampler
// stands in, rows go on and are counted; drawn again from before its failure they are
// the same.
func TestSourceStandIn(t *testing.T) {
	f := &fading{named: named{Sampler: sample.NewUniform(), name: "fading"}}
	src := NewSource(testWindow(20, 15), f, 7, 1)
	draw(t, src, 2)
	state := saved(t, src.Section())
	f.fail = true
	want := draw(t, src, 2)
	var got sourceState
	if err := json.Unmarshal(saved(t, src.Section()), &got); err != nil || got.Sampler != "uniform" || got.Rows != 4*testBatch {
		t.Errorf("%+v, %v", got, err)
	}
	if err := src.Section().Load(bytes.NewReader(state), 1); err != nil || src.Foreign() != "fading" {
		t.Errorf("load: %v, foreign %q", err, src.Foreign())
	}
	if !reflect.DeepEqual(draw(t, src, 2), want) {
		t.Error("other rows from the position before the failure")
	}
}

// TestWith: a sampler takes over between two batches; no row is counted twice or not at
// all, one of the same name goes on where the old one was, and an error changes nothing.
func TestWith(t *testing.T) {
	plain := testSource(testWindow(20, 15))
	draw(t, plain, 3)
	want := draw(t, plain, 4)

	src := testSource(testWindow(20, 15))
	p := Prefetch(src, 3)
	defer func() { p.Close() }()
	draw(t, p, 3)
	replace := func(s stage.Sampler) (began string, err error) {
		next, began, err := src.With(t.Context(), s, saved(t, p.Section()))
		if err == nil {
			p.Close()
			src, p = next, Prefetch(next, 3)
		}
		return began, err
	}
	position := saved(t, p.Section())
	broken := errors.New("broken")
	if _, err := replace(named{sample.NewUniform(), "other", broken}); !errors.Is(err, broken) {
		t.Errorf("a sampler that fails: %v", err)
	}
	if got := saved(t, p.Section()); !bytes.Equal(got, position) {
		t.Errorf("position %s after an error, before %s", got, position)
	}
	if began, err := replace(sample.NewUniform()); err != nil || began != "" {
		t.Errorf("the same sampler again: %q %v", began, err)
	}
	if got := draw(t, p, 2); !reflect.DeepEqual(got, want[:2*testBatch]) {
		t.Error("a sampler of the same name does not go on where the old one was")
	}
	if began, err := replace(named{Sampler: sample.NewUniform(), name: "other"}); err != nil || !strings.Contains(began, "uniform") {
		t.Errorf("another sampler: %q %v", began, err)
	}
	draw(t, p, 2)
	var state sourceState
	if err := json.Unmarshal(saved(t, p.Section()), &state); err != nil || state.Sampler != "other" || state.Rows != 7*testBatch {
		t.Errorf("%+v, want 7 batches of other: %v", state, err)
	}
	if err := p.Close(); err != nil || src.Rows() != 7*testBatch {
		t.Errorf("%d rows counted, %v", src.Rows(), err)
	}
}

// badSampler returns what a faulty plugin might.
type badSampler struct{ refs []stage.RowRef }

func (badSampler) Name() string { return "bad" }
func (b badSampler) Sample(_ context.Context, _ stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	return append(dst, b.refs...), nil, nil
}

func TestSourceChecksSampler(t *testing.T) {
	w := testWindow(2, 9)
	for name, refs := range map[string][]stage.RowRef{
		"none":             {},
		"too many":         {{Weight: 1}, {Weight: 1}},
		"unknown game":     {{Game: 2, Weight: 1}},
		"ply out of range": {{Ply: 9, Weight: 1}},
		"negative ply":     {{Ply: -1, Weight: 1}},
		"no policy":        {{Ply: 2, Weight: 1}},
		"weight 0":         {{Ply: 4, Weight: 1}},
		"NaN":              {{Weight: float32(math.NaN())}},
		"negative weight":  {{Weight: -1}},
	} {
		for _, keep := range []int{0, 1 << 20} {
			src := NewSource(w, badSampler{refs}, 0, 0)
			src.Keep = keep
			if err := src.Next(context.Background(), encoding.NewTrainBatch(1)); err == nil {
				t.Errorf("%s, %d rows named: accepted", name, keep)
			}
		}
	}
	if err := NewSource(w, badSampler{[]stage.RowRef{{Weight: 1}}}, 0, 0).Next(context.Background(), encoding.NewTrainBatch(1)); err != nil {
		t.Errorf("a good row: %v", err)
	}
	if err := NewSource(NewWindow(9), sample.NewUniform(), 0, 0).Next(context.Background(), encoding.NewTrainBatch(1)); !errors.Is(err, ErrNoRows) {
		t.Errorf("empty window: %v", err)
	}
}

// TestPass: every row once, then io.EOF; fewer rows lie evenly spread.
func TestPass(t *testing.T) {
	w := testWindow(7, 10)
	total := w.Rows()
	for _, limit := range []int{0, total, total + 5, total/2 + 1, 1} {
		p := NewPass(w, limit, record.Extra{})
		want := total
		if limit > 0 {
			want = min(limit, total)
		}
		seen, rows := map[string]bool{}, 0
		b := encoding.NewTrainBatch(testBatch)
		for {
			b.Reset()
			err := p.Next(context.Background(), b)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rowsOf(b) {
				seen[row] = true
				if b.Weight[i] < 1 || b.Weight[i] > 3 {
					t.Errorf("weight %v", b.Weight[i])
				}
			}
			rows += b.N
		}
		if rows != want || p.Rows() != want {
			t.Errorf("limit %d: %d rows, want %d", limit, rows, want)
		}
		if limit == 0 && len(seen) < rows-6 { // the games begin alike, so a few rows may be equal
			t.Errorf("%d different rows of %d", len(seen), rows)
		}
	}
	if err := NewPass(NewWindow(1), 0, record.Extra{}).Next(context.Background(), encoding.NewTrainBatch(1)); err != io.EOF {
		t.Errorf("empty window: %v", err)
	}
}
