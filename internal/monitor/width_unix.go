//go:build unix

package monitor

import (
	"os"

	"golang.org/x/sys/unix"
)

// TerminalWidth returns the columns of the terminal f, 0 if it is none.
func TerminalWidth(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
