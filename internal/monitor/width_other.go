//go:build !unix

package monitor

import "os"

// TerminalWidth is not known here: the display takes its default.
func TerminalWidth(*os.File) int { return 0 }
