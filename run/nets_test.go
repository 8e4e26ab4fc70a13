package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	nets, err := ListNets(dir)
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
	if _, err := ListNets(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
