package host

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

const (
	sumA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugins.lock")
	if _, err := ReadLock(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := WriteLock(fsx.OS, path, []Program{{Name: "one", SHA256: sumA}, {Name: "two words", SHA256: sumB}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := lockHeader + sumA + "  one\n" + sumB + "  two words\n"; err != nil || string(text) != want {
		t.Errorf("the file is %q, want %q", text, want)
	}
	l, err := ReadLock(path)
	if err != nil || !maps.Equal(l.Programs, map[string]string{"one": sumA, "two words": sumB}) {
		t.Fatalf("%v, %v", l, err)
	}
	for _, c := range []struct {
		p    Program
		says string // "" = allowed
	}{
		{Program{Name: "one", Path: "bin/one", SHA256: sumA}, ""},
		{Program{Name: "one", Path: "bin/one", SHA256: sumB}, "the program was changed"},
		{Program{Name: "three", Path: "bin/three", SHA256: sumA}, "bin/three is not in the lock file " + path},
	} {
		err := l.Check(c.p)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrLock) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.says)
		}
	}
}

func TestLockFileFaults(t *testing.T) {
	dir := t.TempDir()
	for text, says := range map[string]string{
		"# fine\n\n" + sumA + " one":                 "",
		strings.ToUpper(sumA) + "  one\n":            "",
		"\n" + sumA + "\n":                           ":2:",
		sumA[1:] + "  one\n":                         ":1:",
		strings.Repeat("x", 64) + "  one\n":          ":1:",
		sumA + "  one\n#\n" + sumB + "  one\n":       ":3: one is there twice",
		strings.Repeat("# long\n", maxLockBytes/7+1): "more than",
	} {
		path := filepath.Join(dir, "lock")
		filetest.Write(t, path, text)
		l, err := ReadLock(path)
		if says == "" && (err != nil || l.Check(Program{Name: "one", SHA256: sumA}) != nil) {
			t.Errorf("%.80q: %v", text, err)
		}
		if says != "" && (err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.80q: %v, want %q", text, err, says)
		}
		if err := checkLocks([]string{path}, Program{Name: "one", SHA256: sumA}); says != "" && !errors.Is(err, ErrLock) {
			t.Errorf("%.80q: a broken lock file allows: %v", text, err)
		}
	}
	for _, p := range []Program{{Name: "no-sum"}, {Name: "", SHA256: sumA}, {Name: "two\nlines", SHA256: sumA}} {
		path := filepath.Join(dir, "new")
		if err := WriteLock(fsx.OS, path, []Program{p}); err == nil {
			t.Errorf("%+v was written", p)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("there is a file all the same")
		}
	}
}

func FuzzLock(f *testing.F) {
	f.Add([]byte(lockHeader + sumA + "  one\n"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &Lock{Programs: map[string]string{}}
		if l.parse(data) != nil {
			return
		}
		for name, sum := range l.Programs {
			if err := l.Check(Program{Name: name, SHA256: sum}); err != nil {
				t.Error(err)
			}
		}
	})
}
