//go:build !linux

package loader

// newHinter returns a hinter that never hints: the directory is polled.
func newHinter() hinter { return noHints{} }
