package screen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// TestShow runs on a real terminal, a pseudo one: keys work without a line end, q gives the
// terminal back as it was.
func TestShow(t *testing.T) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	control := int(ours.Fd()) // blocking from here on
	if err := unix.IoctlSetPointerInt(control, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(control, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := unix.IoctlSetWinsize(control, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	if columns, lines := monitor.TerminalSize(theirs); columns != 80 || lines != 24 {
		t.Fatalf("the terminal has %dx%d", columns, lines)
	}
	before, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var shown strings.Builder
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := ours.Read(buffer)
			if err != nil {
				return
			}
			mu.Lock()
			shown.Write(buffer[:n])
			mu.Unlock()
		}
	}()
	wait := func(want string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			text := shown.String()
			mu.Unlock()
			if strings.Contains(text, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("never shown: %q; shown: %q", want, text)
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- Show(context.Background(), theirs, theirs, open(t), "runs/speedrun") }()
	wait(begin)
	wait("of 420000 games")
	for keys, want := range map[string]string{"5": "x stop", "2": "enter open"} {
		if _, err := ours.WriteString(keys); err != nil {
			t.Fatal(err)
		}
		wait(want)
	}
	if _, err := ours.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wait(end)
	if after, err := unix.IoctlGetTermios(int(theirs.Fd()), unix.TCGETS); err != nil || *after != *before {
		t.Errorf("the terminal is %+v (%v), was %+v", after, err, before)
	}
}
