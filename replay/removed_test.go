package replay

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
)

// removable writes two sealed chunks of three games each and describes them.
func removable(t testing.TB, m fsx.FS) []RemovedFile {
	t.Helper()
	var files []RemovedFile
	for k, process := range []string{"p1", "p2"} {
		w := NewWriter(m, "selfplay/net/"+process, WriterOptions{})
		games := testGames(uint64(10*k), uint64(10*k+3), 6)
		games[2] = testGame(uint64(10*k+7), 6) // numbers need not be adjacent
		for _, g := range games {
			if err := w.Append(g); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := DescribeRemoved(m, "selfplay", "net/"+process+"/00000001.games", games)
		if err != nil {
			t.Fatal(err)
		}
		f.TrainRows, f.Removed = int64(k+1), time.Unix(1000, 0).UTC()
		files = append(files, f)
	}
	return files
}

// accounted counts the games that are there and those that were removed.
func accounted(t testing.TB, m fsx.FS) (there, gone int) {
	t.Helper()
	scan, err := WalkGames(t.Context(), m, "selfplay", func(string, *record.Game) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	removed, err := ReadRemoved(m, "selfplay")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range removed {
		gone += f.Games
	}
	return scan.NumGames, gone
}

// TestRemove holds what the list says, and that a later file of the same name is
// another one.
func TestRemove(t *testing.T) {
	m := memfs.New()
	files := removable(t, m)
	if want := [][2]uint64{{10, 12}, {17, 18}}; !reflect.DeepEqual(files[1].Ordinals, want) || files[1].Process() != "p2" || files[1].Games != 3 {
		t.Errorf("%+v, want numbers %v", files[1], want)
	}
	for _, now := range [][]RemovedFile{files[:1], files, files} { // again is no error and changes nothing
		if err := Remove(m, "selfplay", now); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadRemoved(m, "selfplay")
	if err != nil || !reflect.DeepEqual(got, files) {
		t.Errorf("%+v, %v, want %+v", got, err, files)
	}
	if there, gone := accounted(t, m); there != 0 || gone != 6 {
		t.Errorf("%d games there, %d removed", there, gone)
	}
	w := NewWriter(m, "selfplay/net/p1", WriterOptions{})
	if err := errors.Join(w.Append(testGame(99, 6)), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stat("selfplay/" + files[0].Path); err != nil {
		t.Fatal(err) // it has the old one's name
	}
	if there, gone := accounted(t, m); there != 1 || gone != 6 {
		t.Errorf("%d games there, %d removed", there, gone)
	}
	if none, err := ReadRemoved(m, "nowhere"); err != nil || none != nil {
		t.Errorf("no list: %v, %v", none, err)
	}
}

// TestRemovePowerCut cuts the power at every operation: each game is there or
// listed, never both, never neither, and another call finishes.
func TestRemovePowerCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for k := 1; ; k++ {
		for n, fate := range []memfs.Fate{memfs.DropAll, memfs.KeepAll, memfs.Random(seed + uint64(k)), memfs.Random(seed - uint64(k))} {
			m := memfs.New()
			files := removable(t, m)
			m.CutAt(k)
			err := Remove(m, "selfplay", files)
			tripped := m.Tripped()
			if !tripped && err != nil || tripped && err == nil {
				t.Fatalf("operation %d, fate %d: cut %v, error %v", k, n, tripped, err)
			}
			m.Restart(fate)
			if there, gone := accounted(t, m); there+gone != 6 || !tripped && gone != 6 {
				t.Fatalf("operation %d, fate %d: %d games there, %d removed", k, n, there, gone)
			}
			if err := Remove(m, "selfplay", files); err != nil {
				t.Fatalf("operation %d, fate %d: %v", k, n, err)
			}
			if there, gone := accounted(t, m); there != 0 || gone != 6 {
				t.Fatalf("operation %d, fate %d, finished: %d games there, %d removed", k, n, there, gone)
			}
			if !tripped && n == 3 {
				return
			}
		}
	}
}

// TestRemovedDamage: a torn last line is none and is cut off; what cannot be in a
// list is refused with its place.
func TestRemovedDamage(t *testing.T) {
	m := memfs.New()
	files := removable(t, m)
	if err := Remove(m, "selfplay", files[:1]); err != nil {
		t.Fatal(err)
	}
	good, err := fsx.ReadFile(m, "selfplay/"+RemovedName)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := fsx.WriteFile(m, "selfplay/"+RemovedName, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put(string(good) + `{"path":"net/p`)
	if err := Remove(m, "selfplay", files[1:]); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRemoved(m, "selfplay"); err != nil || len(got) != 2 {
		t.Errorf("behind a torn line: %+v, %v", got, err)
	}
	for _, line := range []string{
		"nonsense", `{"path":"../x","games":1}`, `{"path":"/x","games":1}`, `{"path":"a","games":-1}`, `{"path":"a","games":1,"train_rows":-1}`,
		`{"path":"a","games":1,"ordinals":[[0,18446744073709551615]]}`, `{"path":"a","games":2,"ordinals":[[3,2]]}`,
		`{"path":"a","games":2,"ordinals":[[3,5],[4,6]]}`, `{"path":"a","games":2,"ordinals":[[3,5],[7,9]]}`, `[]`,
	} {
		put(string(good) + line + "\n" + string(good))
		_, err := ReadRemoved(m, "selfplay")
		if bad, ok := errors.AsType[*CorruptError](err); !ok || bad.Offset != int64(len(good)) || bad.Path != "selfplay/"+RemovedName {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := DescribeRemoved(m, "selfplay", "net/p9/none.games", nil); err == nil {
		t.Error("a file that is not there was described")
	}
}

// FuzzRemovedLine: a line of the list is refused, or is one that numbers can be
// taken from without end.
func FuzzRemovedLine(f *testing.F) {
	f.Add(`{"path":"net/p1/00000001.games","games":3,"ordinals":[[0,2],[7,8]]}`)
	f.Add(`{"path":"a","games":2,"ordinals":[[3,5],[7,9]]}`)
	f.Fuzz(func(t *testing.T, line string) {
		m := memfs.New()
		if err := errors.Join(fsx.MkdirAll(m, "d"), fsx.WriteFile(m, "d/"+RemovedName, []byte(line+"\n"))); err != nil {
			t.Fatal(err)
		}
		files, err := ReadRemoved(m, "d")
		if err != nil {
			return
		}
		for _, r := range files {
			n := uint64(0)
			for _, o := range r.Ordinals {
				n += o[1] - o[0]
			}
			if n > uint64(r.Games) || !fs.ValidPath(r.Path) || strings.HasPrefix(r.Path, "..") {
				t.Fatalf("%+v", r)
			}
		}
	})
}
