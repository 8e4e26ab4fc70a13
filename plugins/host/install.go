package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// install makes the private copy of a program that runs, of a content that the
// lock files allow and that nobody else can choose.
func (h *Host) install(proc *process) (err error) {
	p := &proc.program
	file, err := executableOf(p.Path)
	if err != nil {
		return err
	}
	if err := checkSafeDir(filepath.Dir(p.Path)); err != nil { // who can write there exchanges it
		return err
	}
	sum, err := hashProgram(p.Path)
	if err != nil {
		return err
	}
	if p.SHA256 != "" && p.SHA256 != sum {
		return mark(ErrLock, fmt.Errorf("%s was changed: it had SHA-256 %s when it was found and has %s now", p.Path, p.SHA256, sum))
	}
	p.SHA256 = sum
	if err := checkLocks(h.o.LockFiles, *p); err != nil {
		return err
	}
	h.o.hook("hashed")
	if proc.dir, err = h.rooms.add(); err != nil {
		return err
	}
	copied := filepath.Join(proc.dir, "program", filepath.Base(p.Path))
	if err := copyProgram(p.Path, copied); err != nil {
		return err
	}
	got, err := hashProgram(copied)
	if err != nil {
		return err
	}
	if got != sum {
		return mark(ErrLock, fmt.Errorf("%s was changed while it was being started", p.Path))
	}
	h.o.hook("copied")
	below, err := filepath.Rel(p.Path, file) // "." for a single file
	if err != nil {
		return err
	}
	proc.child = &child{
		path: filepath.Join(copied, below), exited: make(chan struct{}),
		logs: &logs{log: h.o.Log.With("plugin", p.Name)},
	}
	return nil
}

// environment is what a process sees of the host's, and what the options add.
// Its temporary files lie in its private directory, and go with it.
func (h *Host) environment(proc *process) ([]string, error) {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	temp := os.TempDir()
	if filepath.Dir(filepath.Dir(proc.dir)) == filepath.Clean(temp) { // else it has a place of its own for a reason
		temp = filepath.Join(proc.dir, "tmp")
		if err := os.Mkdir(temp, 0o700); err != nil {
			return nil, err
		}
	}
	return append(append(env, "TMPDIR="+temp), h.o.Env...), nil
}

// remove deletes what install made.
func (p *process) remove() error {
	if err := os.RemoveAll(p.dir); err != nil { // none for ""
		return errors.Join(errors.New("the plugin's private directory stays"), err)
	}
	return nil
}
