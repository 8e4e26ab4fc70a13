package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// sample is a catalogue with all kinds of values.
func sample() *Catalogue {
	at := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	return &Catalogue{
		Nets: []Net{
			{Name: "j-main-s0-d0", State: Accepted, Path: "models/j-main-s0-d0.safetensors", Bytes: 1 << 40, Modified: at, SHA256: "ab", NetID: "cd",
				Arch: "16x2", Params: 12345, Job: "j", Weights: "raw", Step: 1, Samples: 2, Rows: 3, Program: "chessbrain x"},
			{Name: `it's a "net"; DROP TABLE nets`, State: Rejected, Parent: "j-main-s0-d0", Problem: "line 1\nline 2", Modified: at.Add(time.Hour),
				Gate: Gate{Decision: Rejected, Baseline: "random", Games: 200, Points: 99.5, Elo: new(-1.25), Reason: "ü", Ended: at}},
		},
		Matches: []Match{{Path: "matches/a__b.jsonl", Kind: RatingMatch, Bytes: 10, Modified: at, Player1: "a", Player2: "b", SHA1: "1", SHA2: "2", Settings: "visits=1",
			Wins: 1, Draws: 2, Losses: 3, Pairs: [5]int{1, 0, 2, 0, 3}, Plies: 77, Ends: "checkmate 4", Program: "p", Began: at, Problem: "q"}},
		Ratings:   []Rating{{Name: "a", Kind: "net", Elo: 1.5, Error: 2.5, Games: 6, Points: 2, Draws: 2, Group: 1, Anchor: true, Prior: true}, {Name: "b"}},
		Published: []Published{{Training: "main", Path: "models/x", NetID: "cd", Exporter: "safetensors", Bytes: 5}},
	}
}

const catalogueFile = "catalogue.json"

// write writes a catalogue into a file of t's directory.
func write(t *testing.T, c *Catalogue) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), catalogueFile)
	if wrote, err := c.Write(fsx.OS, path); err != nil || !wrote {
		t.Fatalf("write: %v, %v", wrote, err)
	}
	return path
}

// TestRoundTrip: what is written is read, and the same catalogue is not written
// twice.
func TestRoundTrip(t *testing.T) {
	for _, c := range []*Catalogue{sample(), {}} {
		path := write(t, c)
		got, err := Read(fsx.OS, path)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("read %+v, %v; want %+v", got, err, c)
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrote, err := got.Write(fsx.OS, path); wrote || err != nil {
			t.Errorf("the same catalogue: wrote %v, %v", wrote, err)
		}
		if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("the file was replaced (%v)", err)
		}
		got.Published = append(got.Published, Published{Path: "y"})
		if wrote, err := got.Write(fsx.OS, path); !wrote || err != nil {
			t.Errorf("another catalogue: wrote %v, %v", wrote, err)
		}
	}
}

// TestOtherPrograms: the file is one JSON object with the documented names.
func TestOtherPrograms(t *testing.T) {
	data := filetest.Read(t, write(t, sample()))
	var f struct {
		Version int
		Nets    []map[string]any
		Ratings []map[string]any
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if f.Version != 1 || f.Ratings[0]["name"] != "a" || f.Ratings[0]["elo"] != 1.5 || f.Ratings[0]["part"] != 1.0 {
		t.Errorf("version %d, ratings %v", f.Version, f.Ratings)
	}
	gate, _ := f.Nets[1]["gate"].(map[string]any)
	if f.Nets[1]["modified"] != "2026-03-04T06:06:07.123456789Z" || gate["elo"] != -1.25 || gate["error"] != nil {
		t.Errorf("net %v", f.Nets[1])
	}
	if _, there := f.Nets[0]["gate"]; there {
		t.Errorf("a net that was not asked has a decision: %v", f.Nets[0])
	}
}

// TestOther: what is no catalogue is ErrOther, what is not there fs.ErrNotExist.
func TestOther(t *testing.T) {
	if _, err := Read(fsx.OS, filepath.Join(t.TempDir(), catalogueFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	good := filetest.Read(t, write(t, sample()))
	change := func(old, with string) []byte {
		changed := bytes.Replace(good, []byte(old), []byte(with), 1)
		if bytes.Equal(changed, good) {
			t.Fatalf("no %s in the file", old)
		}
		return changed
	}
	for what, data := range map[string][]byte{
		"empty":           nil,
		"text":            []byte("hello"),
		"sqlite":          []byte("SQLite format 3\x00"),
		"half":            good[:len(good)/2],
		"two":             append(bytes.Clone(good), good...),
		"no version":      change(`"version": 1,`, ""),
		"another version": change(`"version": 1`, `"version": 2`),
		"another field":   change(`"elo": 1.5`, `"x": 1.5`),
		"a wrong type":    change(`"bytes": 1099511627776`, `"bytes": "many"`),
		"a wrong time":    change(`"2026-03-04T05:06:07.123456789Z"`, `"yesterday"`),
	} {
		path := filepath.Join(t.TempDir(), catalogueFile)
		filetest.Write(t, path, data)
		if _, err := Read(fsx.OS, path); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
		if wrote, err := sample().Write(fsx.OS, path); !wrote || err != nil {
			t.Errorf("%s is not replaced: %v, %v", what, wrote, err)
		}
	}
	if _, err := Read(fsx.OS, t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

// TestDamage: a file with bytes changed is read or refused, whatever is changed.
func TestDamage(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	good, err := sample().encode()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range 300 {
		data := bytes.Clone(good)
		for range 1 + rng.IntN(8) {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
		if rng.IntN(4) == 0 {
			data = data[:rng.IntN(len(data))]
		}
		if _, err := decode(data); err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage was seen in 300 damaged files")
	}
}

// TestPowerCut: after a crash at any operation the old or the new catalogue is
// there.
func TestPowerCut(t *testing.T) {
	first, second := sample(), sample()
	second.Nets = second.Nets[:1]
	for k, tripped := 1, true; tripped; k++ {
		m := memfs.New()
		if _, err := first.Write(m, catalogueFile); err != nil {
			t.Fatal(err)
		}
		m.CutAt(k)
		_, err := second.Write(m, catalogueFile)
		tripped = m.Tripped()
		m.Restart(memfs.DropAll)
		got, readErr := Read(m, catalogueFile)
		if readErr != nil || err == nil && len(got.Nets) != 1 || len(got.Nets) != 1 && len(got.Nets) != 2 {
			t.Errorf("cut at %d: wrote %v, then read %+v, %v", k, err, got, readErr)
		}
	}
	m := memfs.New()
	m.FailAt(1, syscall.EIO, false)
	if _, err := first.Write(m, catalogueFile); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails: %v", err)
	}
}

// TestManyWriters: readers see whole catalogues whatever is written meanwhile.
func TestManyWriters(t *testing.T) {
	path := write(t, &Catalogue{Nets: make([]Net, 1)})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failed := make(chan error, 3)
	for w := range 3 {
		go func() {
			var err error
			for n := 1; n <= 5 && err == nil && ctx.Err() == nil; n++ {
				c := &Catalogue{Nets: make([]Net, n), Ratings: make([]Rating, n)}
				c.Nets[0].Name = fmt.Sprint(w)
				_, err = c.Write(fsx.OS, path)
			}
			failed <- err
		}()
	}
	for left := 3; left > 0; {
		c, err := Read(fsx.OS, path)
		if err != nil || len(c.Nets) == 0 || len(c.Ratings) != 0 && len(c.Ratings) != len(c.Nets) {
			t.Fatalf("%+v, %v", c, err)
		}
		select {
		case err := <-failed:
			if left--; err != nil {
				t.Error(err)
			}
		default:
		}
	}
}

// TestLookup of a rating.
func TestLookup(t *testing.T) {
	c := sample()
	if r, ok := c.Rating("a"); !ok || r.Elo != 1.5 {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, ok := c.Rating("x"); ok {
		t.Error("a rating of nobody")
	}
}
