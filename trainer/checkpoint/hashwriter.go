package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"hash"
	"io"
)

// hashWriter is a buffered writer that knows the size and SHA-256 of what went
// through it.
type hashWriter struct {
	buffer *bufio.Writer
	hash   hash.Hash
	size   int64
}

func newHashWriter(w io.Writer) *hashWriter {
	return &hashWriter{buffer: bufio.NewWriterSize(w, 1<<16), hash: sha256.New()}
}

func (w *hashWriter) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	return n, err
}
