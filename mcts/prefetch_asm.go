//go:build amd64 || arm64

package mcts

import "unsafe"

// prefetchLines asks for so many cache lines, one at least, from p on, which will be
// written. p may be any address.
//
//go:noescape
func prefetchLines(p unsafe.Pointer, lines int)
