//go:build !linux

package kernel

// permitTiles is false: only on Linux is it known how to ask for the tiles.
func permitTiles() bool { return false }
