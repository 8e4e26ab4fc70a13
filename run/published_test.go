package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPublished: what a new set does to a list.
func TestPublished(t *testing.T) {
	d := Dir{Root: t.TempDir(), Training: "main"}
	file := func(name string) publishedPart {
		path := filepath.Join(d.Root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("net"), 0o666)); err != nil {
			t.Fatal(err)
		}
		return publishedPart{name, 3}
	}
	var list published
	put := func(keep int, set publishedSet) {
		t.Helper()
		next, gone := list.add(set, keep)
		for i := range gone {
			if err := gone[i].remove(d, next); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.write(d); err != nil {
			t.Fatal(err)
		}
		var there bool
		var err error
		if list, there, err = readPublished(d); err != nil || !there {
			t.Fatalf("%v, %v", there, err)
		}
	}
	files := func() string {
		t.Helper()
		var all []string
		for _, pattern := range []string{"models/*", "models/*/*"} {
			found, err := filepath.Glob(filepath.Join(d.Root, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if info, err := os.Stat(f); err == nil && !info.IsDir() {
					all = append(all, d.shorten(f))
				}
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if _, there, err := readPublished(d); there || err != nil {
		t.Fatalf("a list that is not there: %v, %v", there, err)
	}
	old := &run{dir: d, state: State{Exported: []string{filepath.Join(d.Root, "models", "1.a")}}} // a checkpoint's own list
	var err error
	if list, err = old.readPublished(); err != nil || len(list) != 1 || !list[0].has(file("models/1.a").Path) {
		t.Fatalf("%+v, %v", list, err)
	}
	put(0, publishedSet{Path: "models/1", NetID: "x", Exporter: "a", Files: []publishedPart{file("models/1.a")}})
	if len(list) != 1 || files() != "models/1.a" {
		t.Fatalf("its own file again: %+v, %s", list, files())
	}
	put(0, publishedSet{Path: "models/1", NetID: "x", Exporter: "b", Files: []publishedPart{file("models/1.b")}})
	put(0, publishedSet{Path: "models/2", NetID: "y", Exporter: "b", Dir: "models/2", Files: []publishedPart{file("models/2/p"), file("models/2/q")}})
	if len(list) != 3 || files() != "models/1.a models/1.b models/2/p models/2/q" {
		t.Fatalf("three sets: %+v, %s", list, files())
	}
	for _, c := range []struct {
		want publishedSet
		main string
	}{
		{publishedSet{Path: "models/1", NetID: "x", Exporter: "a"}, "models/1.a"},
		{publishedSet{Path: "models/2", NetID: "y", Exporter: "b"}, "models/2"},
		{publishedSet{Path: "models/2", NetID: "x", Exporter: "b"}, ""},
		{publishedSet{Path: "models/2", NetID: "y", Exporter: "a"}, ""},
	} {
		s := list.find(d, c.want)
		if (s != nil) != (c.main != "") || s != nil && s.main(d) != filepath.Join(d.Root, filepath.FromSlash(c.main)) {
			t.Errorf("find %+v: %+v", c.want, s)
		}
	}
	put(0, publishedSet{Path: "models/2", NetID: "z", Exporter: "b", Files: []publishedPart{file("models/2.b")}}) // takes the directory's place
	if len(list) != 3 || files() != "models/1.a models/1.b models/2.b" {
		t.Fatalf("replaced: %+v, %s", list, files())
	}
	put(2, publishedSet{Path: "models/3", NetID: "w", Exporter: "b", Files: []publishedPart{file("models/3.b")}})
	if len(list) != 2 || files() != "models/2.b models/3.b" {
		t.Fatalf("two are kept: %+v, %s", list, files())
	}
	away := filepath.Join(t.TempDir(), "net")
	if d.shorten(away) != away || d.netPath(d.shorten(away)) != away {
		t.Errorf("a path outside the run became %s", d.shorten(away))
	}
}
