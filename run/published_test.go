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
	file := func(name string) PublishedPart {
		path := filepath.Join(d.Root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("net"), 0o666)); err != nil {
			t.Fatal(err)
		}
		return PublishedPart{name, 3}
	}
	var list Published
	put := func(keep int, set PublishedSet) {
		t.Helper()
		next, gone := list.Add(set, keep)
		for i := range gone {
			if err := gone[i].Remove(d, next); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.Write(d); err != nil {
			t.Fatal(err)
		}
		var there bool
		var err error
		if list, there, err = ReadPublished(d); err != nil || !there {
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
					all = append(all, d.Shorten(f))
				}
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if _, there, err := ReadPublished(d); there || err != nil {
		t.Fatalf("a list that is not there: %v, %v", there, err)
	}
	first := file("models/1.a")
	list = Published{{Files: []PublishedPart{first}}} // as a checkpoint's own list of old is read
	put(0, PublishedSet{Path: "models/1", NetID: "x", Exporter: "a", Files: []PublishedPart{file("models/1.a")}})
	if len(list) != 1 || files() != "models/1.a" {
		t.Fatalf("its own file again: %+v, %s", list, files())
	}
	put(0, PublishedSet{Path: "models/1", NetID: "x", Exporter: "b", Files: []PublishedPart{file("models/1.b")}})
	put(0, PublishedSet{Path: "models/2", NetID: "y", Exporter: "b", Dir: "models/2", Files: []PublishedPart{file("models/2/p"), file("models/2/q")}})
	if len(list) != 3 || files() != "models/1.a models/1.b models/2/p models/2/q" {
		t.Fatalf("three sets: %+v, %s", list, files())
	}
	for _, c := range []struct {
		want PublishedSet
		main string
	}{
		{PublishedSet{Path: "models/1", NetID: "x", Exporter: "a"}, "models/1.a"},
		{PublishedSet{Path: "models/2", NetID: "y", Exporter: "b"}, "models/2"},
		{PublishedSet{Path: "models/2", NetID: "x", Exporter: "b"}, ""},
		{PublishedSet{Path: "models/2", NetID: "y", Exporter: "a"}, ""},
	} {
		s := list.Find(d, c.want)
		if (s != nil) != (c.main != "") || s != nil && s.Main(d) != filepath.Join(d.Root, filepath.FromSlash(c.main)) {
			t.Errorf("find %+v: %+v", c.want, s)
		}
	}
	put(0, PublishedSet{Path: "models/2", NetID: "z", Exporter: "b", Files: []PublishedPart{file("models/2.b")}}) // takes the directory's place
	if len(list) != 3 || files() != "models/1.a models/1.b models/2.b" {
		t.Fatalf("replaced: %+v, %s", list, files())
	}
	put(2, PublishedSet{Path: "models/3", NetID: "w", Exporter: "b", Files: []PublishedPart{file("models/3.b")}})
	if len(list) != 2 || files() != "models/2.b models/3.b" {
		t.Fatalf("two are kept: %+v, %s", list, files())
	}
	away := filepath.Join(t.TempDir(), "net")
	if d.Shorten(away) != away || d.NetPath(d.Shorten(away)) != away {
		t.Errorf("a path outside the run became %s", d.Shorten(away))
	}
}
