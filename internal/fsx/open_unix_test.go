//go:build unix

package fsx

import (
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
