//go:build !unix

package main

import "os"

// terminalWidth is not known here: the display takes its default.
func terminalWidth(*os.File) int { return 0 }
