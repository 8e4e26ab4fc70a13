//go:build unix

package fsx

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenPipe: a pipe among files, to which nobody writes, is refused and not waited for.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.games")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no pipes on this file system: %v", err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("Open: %v", err)
	}
	if _, err := ReadFile(OS, path); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("ReadFile: %v", err)
	}
}

// TestWriteNamed: a link stays one, and what is no file is written to.
func TestWriteNamed(t *testing.T) {
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "other"), 0o755), os.Symlink(target, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Skipf("no links or pipes on this file system: %v", err)
	}
	say := func(w io.Writer) error { _, err := io.WriteString(w, "said"); return err }
	for range 2 { // what the link means is not there, then there
		if err := errors.Join(CanCreate(link), WriteNamed(link, say)); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	read := make(chan []byte)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- data
	}()
	if err := errors.Join(CanCreate(pipe), WriteNamed(pipe, say)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text)+string(<-read) != "saidsaid" {
		t.Errorf("%q, %v", text, err)
	}
	if !Special(pipe) || Special(link) || Special(dir) {
		t.Error("the pipe is no pipe any more, or something else is one")
	}
}
