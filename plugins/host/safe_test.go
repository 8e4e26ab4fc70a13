package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// A program that group or others can change is found, hashed and run by nobody, and
// so is one in a directory where they can put another in its place. The message says
// the path, the mode and the remedy, and the remedy helps.
func TestWritableByOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		path string // what others can write, below the plugin directory
		mode os.FileMode
		says string
	}{
		{"file, group", "halve", 0o720, "-rwx-w----"},
		{"file, others", "halve", 0o702, "-rwx----w-"},
		{"directory, group", ".", 0o770, "drwxrwx---"},
		{"directory, others", ".", 0o707, "drwx---rwx"},
		{"directory, sticky", ".", 0o777 | os.ModeSticky, "dtrwxrwxrwx"},
		{"program's directory", "folder", 0o770, "drwxrwx---"},
		{"directory in a program", "folder/data", 0o707, "drwx---rwx"},
		{"file in a program", "folder/data/table", 0o606, "-rw----rw-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			bin := b.o.Dirs[0]
			ran := filepath.Join(b.dir, "ran")
			script := "#!/bin/sh\n: >'" + ran + "'\n"
			for _, path := range []string{"halve", "folder/plugin"} {
				writeFile(t, filepath.Join(bin, path), script, 0o700)
			}
			writeFile(t, filepath.Join(bin, "folder/data/table"), "x", 0o600)
			path := filepath.Join(bin, c.path)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			name := "halve"
			if strings.HasPrefix(c.path, "folder") {
				name = "folder"
			}
			_, found := b.Programs()
			_, looked := b.Find(name)
			_, made := b.Rescorer(t.Context(), stage.Choice{Name: name})
			_, looksLike := (Look{b.Host}).Rescorer(t.Context(), stage.Choice{Name: name})
			_, _, defined := b.Definition(t.Context(), stage.KindRescorer, name)
			_, described := b.Describe(t.Context(), Program{Path: filepath.Join(bin, name)})
			for i, err := range []error{found, looked, made, looksLike, defined, described} {
				var own *Error
				if !errors.Is(err, ErrUnsafe) || !errors.As(err, &own) {
					t.Errorf("call %d: %v", i, err)
					continue
				}
				for _, want := range []string{path + " has mode " + c.says, "chmod go-w " + path} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("call %d: %v, want %q", i, err, want)
					}
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Fatal("the program was started")
			}
			if err := os.Chmod(path, c.mode.Perm()&^0o022|0o700); err != nil {
				t.Fatal(err)
			}
			if programs, err := b.Programs(); err != nil || len(programs) != 2 {
				t.Errorf("after chmod go-w: %v, %v", programs, err)
			}
		})
	}
}

// A program of another user is refused although nobody else may write it: its owner
// can allow himself to. Root's are trusted.
func TestOtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away; run as root")
	}
	for _, path := range []string{"halve", "."} {
		b := newBench(t, nil, nil)
		writeFile(t, filepath.Join(b.o.Dirs[0], "halve"), "#!/bin/sh\n", 0o755)
		if programs, err := b.Programs(); err != nil || len(programs) != 1 {
			t.Fatalf("root's own: %v, %v", programs, err)
		}
		other := filepath.Join(b.o.Dirs[0], path)
		if err := os.Chown(other, 65534, -1); err != nil {
			t.Fatal(err)
		}
		_, err := b.Rescorer(t.Context(), stage.Choice{Name: "halve"})
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), other+" has mode ") || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("%s of another user: %v", path, err)
		}
	}
}

// One program that is refused does not hide the others, and each is named.
func TestDiscoverNamesAll(t *testing.T) {
	bin := t.TempDir()
	if err := os.Chmod(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a": 0o777, "b": 0o755, "c": 0o770} {
		writeFile(t, filepath.Join(bin, name), "#!/bin/sh\n", mode)
	}
	programs, err := Discover([]string{bin})
	if len(programs) != 1 || programs[0].Name != "b" || !errors.Is(err, ErrUnsafe) ||
		!strings.Contains(err.Error(), bin+"/a has mode") || !strings.Contains(err.Error(), bin+"/c has mode") {
		t.Errorf("%v, %v", programs, err)
	}
}

// A look finds, hashes and holds against the lock, and starts nothing; what it gives
// for a program refuses to work. Built-in stages are made as ever.
func TestLook(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "plugins.lock")
	b := newBench(t, []string{"halve"}, func(o *Options) {
		o.LockFiles = []string{lock}
		o.Builtin = append(o.Builtin, testDefinition(t.TempDir(), "other"))
	})
	l := Look{b.Host}
	r, err := l.Rescorer(t.Context(), stage.Choice{Name: "halve", Settings: map[string]string{"only": "it knows"}})
	if err != nil || r.Name() != "halve" {
		t.Fatal(r, err)
	}
	if _, err := r.Rescore(t.Context(), randomGames(t, 1)[0]); err == nil || !strings.Contains(err.Error(), "not started") {
		t.Errorf("it works: %v", err)
	}
	p, err := b.Find("halve")
	programs, all := b.Programs()
	if err != nil || all != nil || !slices.Equal(programs, []Program{*p}) {
		t.Errorf("%v, %v; %v, %v", p, err, programs, all)
	}
	if r, err := l.Rescorer(t.Context(), stage.Choice{Name: "other"}); err != nil {
		t.Errorf("a built-in one: %v", err)
	} else if _, here := r.(halver); !here {
		t.Errorf("a built-in one: %T", r)
	}
	if p, err := b.Find("nosuch"); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := l.Rescorer(t.Context(), stage.Choice{Name: "nosuch"}); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "--plugin-dir") {
		t.Error(err)
	}
	if err := WriteLock(fsx.OS, lock, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Rescorer(t.Context(), stage.Choice{Name: "halve"}); !errors.Is(err, ErrLock) {
		t.Errorf("not in the lock: %v", err)
	}
	if len(b.states()) != 0 {
		t.Errorf("events %v", b.states())
	}
	if _, err := os.Stat(filepath.Join(b.dir, "report-halve")); err == nil {
		t.Error("the program was started")
	}
}

// writeFile makes a file of exactly that mode, and its directories for this user
// alone.
func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode))
	if err != nil {
		t.Fatal(err)
	}
}
