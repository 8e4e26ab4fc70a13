package tools

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// dumped is a dump of made-up rows of a small net, in two batches.
func dumped(t *testing.T) *Dump {
	t.Helper()
	a := nntest.Named("8x1")
	e, err := config.Resolve(config.Input{Overrides: []string{"training.device=cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDump(context.Background(), NewSubject("net", nn.Init(a, 1), e))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	for seed := range uint64(2) {
		b := encoding.NewTrainBatch(3)
		madeUpRows(b, 3, seed)
		b.Targets[0][encoding.TargetST] = encoding.UnknownQDM
		b.Weight[1] = 0.5
		if err := d.Keep(b); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// npy reads a .npy file by the format's description: magic, version, header
// length, header, data.
func npy(t *testing.T, name string, data []byte) (shape string, values []float32) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("\x93NUMPY\x01\x00")) {
		t.Fatalf("%s begins with %q", name, data[:8])
	}
	n := int(binary.LittleEndian.Uint16(data[8:]))
	header := string(data[10 : 10+n])
	if (10+n)%64 != 0 || !strings.HasSuffix(header, "\n") {
		t.Errorf("%s: data begin at %d", name, 10+n)
	}
	before, rest, ok := strings.Cut(header, "'shape': ")
	if !ok || before != "{'descr': '<f4', 'fortran_order': False, " {
		t.Fatalf("%s: header %q", name, header)
	}
	shape, _, _ = strings.Cut(rest, ", }")
	for at := 10 + n; at < len(data); at += 4 {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(data[at:])))
	}
	return shape, values
}

// Every array has its documented shape and holds what the batches hold.
func TestDumpNPZ(t *testing.T) {
	d := dumped(t)
	var file bytes.Buffer
	if err := d.Write(&file, "npz"); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float32{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		shape, values := npy(t, f.Name, data)
		want := map[string]string{"inputs.npy": "(6, 112, 8, 8,)", "policy_target.npy": "(6, 1858,)", "value_targets.npy": "(6, 6, 3,)",
			"weight.npy": "(6,)", "policy.npy": "(6, 1858,)", "wdl.npy": "(6, 3,)", "moves_left.npy": "(6,)"}[f.Name]
		if shape != want {
			t.Errorf("%s has shape %s, want %s", f.Name, shape, want)
		}
		got[strings.TrimSuffix(f.Name, ".npy")] = values
	}
	n := 0
	for b, i := range d.all {
		planes := make([]float32, 112*64)
		encoding.ExpandPlanes(planes, &b.Masks[i], &b.Scalars[i])
		for k, v := range planes {
			if x := got["inputs"][n*len(planes)+k]; x != v {
				t.Fatalf("input %d of row %d is %v, want %v", k, n, x, v)
			}
		}
		legal := map[int]int{}
		for k, m := range b.LegalOf(i) {
			legal[int(m)] = k
		}
		for m := range encoding.NumPolicy {
			target, p := float32(-1), float32(0)
			if k, ok := legal[m]; ok {
				target, p = b.PolicyOf(i)[k], b.PriorOf(i)[k]
			}
			if x, y := got["policy_target"][n*encoding.NumPolicy+m], got["policy"][n*encoding.NumPolicy+m]; x != target || y != p {
				t.Fatalf("move %d of row %d: %v %v, want %v %v", m, n, x, y, target, p)
			}
		}
		if w := got["weight"][n]; w != b.Weight[i] || got["moves_left"][n] != b.M[i] || got["wdl"][3*n+2] != b.WDL[i][2] {
			t.Fatalf("row %d: weight %v, M %v", n, w, got["moves_left"][n])
		}
		if v := got["value_targets"][18*n+1]; v != b.Targets[i][encoding.TargetResult].D {
			t.Fatalf("row %d: D of the result is %v", n, v)
		}
		n++
	}
	if v := got["value_targets"][15]; v == v {
		t.Errorf("an unknown target is %v", v)
	}
}

func TestDumpJSON(t *testing.T) {
	d := dumped(t)
	var file bytes.Buffer
	if err := d.Write(&file, "json"); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&file)
	n := 0
	for b, i := range d.all {
		var row struct {
			Row     int
			Pieces  string
			Masks   []string
			Weight  float32
			Targets map[string]map[string]*float32
			Output  struct{ W, D, L, M float32 }
			Moves   []struct {
				Move      string
				Index     uint16
				Target, P float32
			}
		}
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Row != n || row.Weight != b.Weight[i] || len(row.Masks) != 104 || row.Masks[5] != fmt.Sprintf("%016x", b.Masks[i][5]) ||
			strings.Count(row.Pieces, "/") != 7 || !strings.Contains(row.Pieces, "K") || !strings.Contains(row.Pieces, "k") {
			t.Fatalf("row %d: %+v", n, row)
		}
		if q := row.Targets["result"]["q"]; q == nil || *q != b.Targets[i][0].Q {
			t.Fatalf("row %d: result %v", n, q)
		}
		if q := row.Targets["st"]["q"]; (q == nil) != (i == 0) {
			t.Fatalf("row %d: st %v", n, q)
		}
		if len(row.Moves) != len(b.LegalOf(i)) || row.Output.W != b.WDL[i][0] {
			t.Fatalf("row %d: %d moves", n, len(row.Moves))
		}
		for k, m := range row.Moves {
			if m.Index != b.LegalOf(i)[k] || m.Move != encoding.PolicyString(m.Index) || m.Target != b.PolicyOf(i)[k] || m.P != b.PriorOf(i)[k] {
				t.Fatalf("row %d: move %+v", n, m)
			}
		}
		n++
	}
}

// The start position as text: its board, its twenty moves, the wanted one first.
func TestDumpText(t *testing.T) {
	d := dumped(t)
	var text strings.Builder
	if err := d.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	b := d.batches[0]
	for _, want := range []string{"row 0  " + pieces(b, 0) + "  black to move ", "row 5  ", "  target st      Q +NaN  D NaN  M NaN", "target 1.0000  net 0."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	start := encoding.NewTrainBatch(1)
	for seed := uint64(0); ; seed++ { // some seed gives the start position
		start.Reset()
		madeUpRows(start, 1, seed)
		if len(start.LegalOf(0)) == 20 && start.Masks[0][0] == 0xff00 && start.Masks[0][6] == 0xff000000000000 && start.Masks[0][1] == 0x42 {
			break
		}
	}
	if p := pieces(start, 0); p != "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR" {
		t.Errorf("the start position is %s", p)
	}
}
