package host

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// tree writes files with their modes; a name that ends with / is a directory.
func tree(t *testing.T, files map[string]os.FileMode) string {
	t.Helper()
	root := t.TempDir()
	for name, mode := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text of "+name), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDiscover(t *testing.T) {
	root := tree(t, map[string]os.FileMode{
		"a/one":                     0o755,
		"a/two.sh":                  0o700,
		"a/.hidden":                 0o700,
		"a/README.md":               0o644,
		"a/snake/plugin.py":         0o700,
		"a/snake/helper.py":         0o600,
		"a/snake/plugin.proto":      0o600,
		"a/both/plugin":             0o700,
		"a/both/plugin.sh":          0o700,
		"a/folder/other":            0o700,
		"b/one.exe":                 0o700, // the same name: a/one wins
		"b/three":                   0o700,
		"a/snake/__pycache__/x.pyc": 0o600,
	})
	if err := os.Symlink("nowhere", filepath.Join(root, "a", "dangling")); err != nil {
		t.Fatal(err)
	}
	programs, err := Discover([]string{filepath.Join(root, "a"), filepath.Join(root, "missing"), filepath.Join(root, "b")})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("text of "+name))) }
	folder := sha256.New()
	for _, name := range []string{"helper.py", "plugin.proto", "plugin.py"} {
		fmt.Fprintf(folder, "%s\x00%s\n", name, file("a/snake/"+name))
	}
	both := sha256.New()
	for _, name := range []string{"plugin", "plugin.sh"} {
		fmt.Fprintf(both, "%s\x00%s\n", name, file("a/both/"+name))
	}
	want := []Program{
		{"both", filepath.Join(root, "a/both"), fmt.Sprintf("%x", both.Sum(nil))},
		{"one", filepath.Join(root, "a/one"), file("a/one")},
		{"snake", filepath.Join(root, "a/snake"), fmt.Sprintf("%x", folder.Sum(nil))},
		{"three", filepath.Join(root, "b/three"), file("b/three")},
		{"two", filepath.Join(root, "a/two.sh"), file("a/two.sh")},
	}
	if !slices.Equal(programs, want) {
		t.Errorf("programs\n%v, want\n%v", programs, want)
	}
	for path, want := range map[string]string{"a/snake": "a/snake/plugin.py", "a/both": "a/both/plugin", "a/one": "a/one"} {
		if got, err := executableOf(filepath.Join(root, path)); err != nil || got != filepath.Join(root, want) {
			t.Errorf("%s runs %s, %v, want %s", path, got, err, want)
		}
	}
	if _, err := Discover([]string{filepath.Join(root, "a/one")}); err == nil {
		t.Error("a file was taken for a plugin directory")
	}
}

// A copy has the hash of the original, without what does not belong to it, and is
// this user's alone.
func TestCopyProgram(t *testing.T) {
	root := tree(t, map[string]os.FileMode{
		"p/plugin": 0o755, "p/a/b/data": 0o644, "p/a.txt": 0o644, "p/.git/config": 0o644, "p/.env": 0o644, "p/__pycache__/y": 0o644,
	})
	src, dst := filepath.Join(root, "p"), filepath.Join(root, "copy", "p")
	if err := copyProgram(src, dst); err != nil {
		t.Fatal(err)
	}
	want, err := hashProgram(src)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hashProgram(dst); err != nil || got != want {
		t.Errorf("hash %s, %v, want %s", got, err, want)
	}
	for name, mode := range map[string]string{"plugin": "-rwx------", "a/b/data": "-rw-------", "a.txt": "-rw-------", "a": "drwx------", ".": "drwx------"} {
		if info, err := os.Stat(filepath.Join(dst, name)); err != nil || info.Mode().String() != mode {
			t.Errorf("%s: %v, %v, want mode %s", name, info, err, mode)
		}
	}
	for _, name := range []string{".git", ".env", "__pycache__"} {
		if _, err := os.Stat(filepath.Join(dst, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	filetest.Write(t, filepath.Join(src, "a/b/data"), "other")
	if got, _ := hashProgram(src); got == want {
		t.Error("another content has the same hash")
	}
	if err := os.Symlink("plugin", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := hashProgram(src); err == nil {
		t.Error("a link inside a program was accepted")
	}
}

func TestDirs(t *testing.T) {
	t.Setenv(DirEnv, "/x:/flag::/y")
	if got := Dirs([]string{"/flag", ""}); !slices.Equal(got, []string{"/flag", "/x", "/y"}) {
		t.Errorf("directories %v", got)
	}
	t.Setenv(DirEnv, "")
	if got := Dirs(nil); len(got) != 0 {
		t.Errorf("directories %v", got)
	}
}
