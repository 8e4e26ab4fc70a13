//go:build unix

package uci

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClientLeavesNothing ends engines that ignore quit, and their children.
func TestClientLeavesNothing(t *testing.T) {
	path, held := fifo(t)
	c := startFake(t, fakeConfig("no-quit", path))
	c.config.Grace = 50 * time.Millisecond
	if err := c.Close(); !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), "did not end within 50ms of quit and was killed") {
		t.Errorf("close: %v", err)
	}
	allGone(t, held)
	if runtime.GOOS != "linux" {
		t.Skip("children of an engine that ended, and engines of a killed process, are looked after on Linux only")
	}
	path, held = fifo(t)
	c = startFake(t, fakeConfig("child", path))
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	allGone(t, held)

	path, held = fifo(t)
	host := fakeConfig("host", path)
	cmd := exec.CommandContext(t.Context(), host.Path, host.Args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(out).ReadString('\n'); text != "started\n" {
		t.Errorf("%q, %v", text, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	allGone(t, held)
}

// fifo makes a named pipe and opens it for reading: it ends when the last of the
// processes that write to it is gone.
func fifo(t *testing.T) (path string, f *os.File) {
	t.Helper()
	path = t.TempDir() + "/held"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path, f
}

// allGone waits until nobody holds the pipe.
func allGone(t *testing.T, f *os.File) {
	t.Helper()
	f.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := f.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a process is left: %v", err)
	}
}
