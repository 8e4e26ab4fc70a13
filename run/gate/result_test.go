package gate

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// lost is a result whose Elo is infinite.
func lost() *Result {
	r := &Result{Version: resultVersion, Candidate: "a", Baseline: "b", CandidateSHA256: "00", Games: 4, GamesWanted: 200, Count: arena.Count{Losses: 4},
		Pentanomial: arena.Pentanomial{2}, Reason: "lost", Files: []File{{"a.onnx", 1}, {"a.safetensors", 2}}}
	r.estimate()
	return r
}

// TestResultFile: what is written is read again, also where JSON has no number.
func TestResultFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	r := lost()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadResult(dir)
	if err != nil || !reflect.DeepEqual(got, r) || !math.IsInf(float64(got.Elo), -1) {
		t.Errorf("%+v, %v, want %+v", got, err, r)
	}
	if _, err := ReadResult(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no result: %v", err)
	}
}

// TestBadResult: what would move other files than the candidate's is refused.
func TestBadResult(t *testing.T) {
	good := lost()
	for name, change := range map[string]func(r *Result){
		"version":        func(r *Result) { r.Version = 2 },
		"no candidate":   func(r *Result) { r.Candidate = "" },
		"above":          func(r *Result) { r.Candidate = ".." },
		"a path":         func(r *Result) { r.Candidate = "../a" },
		"another's file": func(r *Result) { r.Files[0].Name = "b.onnx" },
		"a file above":   func(r *Result) { r.Files[0].Name = "a/../../x" },
	} {
		bad := *good
		bad.Files = append([]File(nil), good.Files...)
		change(&bad)
		data, err := json.Marshal(&bad)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		filetest.Write(t, filepath.Join(dir, ResultName), data)
		_, err = ReadResult(dir)
		if corrupt, ok := errors.AsType[*checkpoint.CorruptError](err); !ok || corrupt.Path != filepath.Join(dir, ResultName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{", "[]", strings.Repeat(" ", maxResult+1)} {
		if r, err := decodeResult([]byte(text)); err == nil {
			t.Errorf("%.10q: %+v", text, r)
		}
	}
}

// FuzzResult: what is accepted moves only files of the candidate, and is written
// and read again as it is.
func FuzzResult(f *testing.F) {
	data, err := json.Marshal(lost())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"candidate":"a","pentanomial":[-1,1,0,0,0],"files":[{"name":"a"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeResult(data)
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if strings.ContainsAny(file.Name, `/\x00`) && filepath.Base(file.Name) != file.Name || !strings.HasPrefix(file.Name, r.Candidate) {
				t.Fatalf("file %q of %q", file.Name, r.Candidate)
			}
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeResult(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
