package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestListNets: the newest first, and what is no net is left out.
func TestListNets(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 0)
	for name, age := range map[string]int{"old": 2, "a": 1, "b": 1, ".half": 0} {
		path := filepath.Join(dir, name+NetSuffix)
		written := at.Add(-time.Duration(age) * time.Hour)
		if err := errors.Join(os.WriteFile(path, []byte(name), 0o666), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.onnx"), nil, 0o666), os.Mkdir(filepath.Join(dir, "d"+NetSuffix), 0o777),
		os.Symlink(filepath.Join(dir, "old"+NetSuffix), filepath.Join(dir, "link"+NetSuffix)),
		os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "broken"+NetSuffix))); err != nil {
		t.Fatal(err)
	}
	nets, err := ListNets(Dir{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"b", "a", "old", "link"}
	if len(nets) != len(want) {
		t.Fatalf("nets %+v, want %v", nets, want)
	}
	for i, n := range nets {
		if n.Name != want[i] || n.Path != filepath.Join(dir, want[i]+NetSuffix) || n.Linked != (n.Name == "link") {
			t.Errorf("net %d is %+v, want %s", i, n, want[i])
		}
	}
	if !nets[2].Older(&nets[0]) || nets[0].Older(&nets[1]) || nets[1].Older(&nets[0]) {
		t.Error("wrong order of age")
	}
	if nets[0].Bytes != 1 {
		t.Errorf("%d bytes", nets[0].Bytes)
	}
	if _, err := ListNets(Dir{}, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// TestSortNets: files that were copied or put back do not change the order that the run knows.
func TestSortNets(t *testing.T) {
	root := t.TempDir()
	for name, ended := range map[string]int{"r-main-s10-d5": 1, "r-main-s40-d9": 2, "r-wide-s7-d9": 3, "r-main-s30-d8": 4} {
		path := filepath.Join(root, "gatekeeper", name, GateResultName)
		text := time.Unix(int64(ended), 0).UTC().Format(`{"accepted":true,"ended":"2006-01-02T15:04:05Z"}`)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ what, root, oldestFileFirst, newestFirst string }{
		{"copied", "", "r-main-s900-d9 r-main-s1000-d9 r-main-s80-d7", "r-main-s1000-d9 r-main-s900-d9 r-main-s80-d7"},
		{"equal samples", "", "r-main-s9-d20 r-main-s9-d3", "r-main-s9-d20 r-main-s9-d3"},
		{"a net of another name is the newest", "", "r-main-s2-d9 r-main-s3-d9 mine", "mine r-main-s3-d9 r-main-s2-d9"},
		{"it stays so when an older one is put back", "", "r-main-s3-d9 mine r-main-s2-d9", "mine r-main-s3-d9 r-main-s2-d9"},
		{"trainings by time", "", "r-main-s9-d9 r-wide-s1-d9 r-main-s8-d9", "r-wide-s1-d9 r-main-s9-d9 r-main-s8-d9"},
		{"accepted in this order", root, "r-main-s30-d8 r-main-s10-d5 r-main-s40-d9 r-wide-s7-d9", "r-main-s30-d8 r-wide-s7-d9 r-main-s40-d9 r-main-s10-d5"},
		{"accepted, and others", root, "r-main-s20-d6 r-main-s50-d9 r-main-s30-d8 r-main-s10-d5 r-main-s40-d9",
			"r-main-s50-d9 r-main-s30-d8 r-main-s40-d9 r-main-s20-d6 r-main-s10-d5"},
	} {
		var nets []NetFile
		for i, name := range strings.Fields(test.oldestFileFirst) {
			nets = append(nets, NetFile{Name: name, Written: time.Unix(int64(i), 0)})
		}
		SortNets(Dir{Root: test.root}, nets)
		var got []string
		for i := range nets {
			got = append(got, nets[i].Name)
		}
		if strings.Join(got, " ") != test.newestFirst {
			t.Errorf("%s: %v, want %s", test.what, got, test.newestFirst)
		}
	}
}
