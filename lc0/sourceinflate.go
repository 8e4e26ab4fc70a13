package lc0

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// inflaters holds idle readers: a new one costs 40 KB.
var inflaters = sync.Pool{New: func() any { return new(gzip.Reader) }}

// inflate appends the inflated bytes of a gzip stream to dst, at most limit of
// them: where there are more it returns ErrCorruptRecord.
func inflate(dst, compressed []byte, limit int) ([]byte, error) {
	z := inflaters.Get().(*gzip.Reader)
	defer inflaters.Put(z)
	if err := z.Reset(bytes.NewReader(compressed)); err != nil {
		return dst, damaged(err)
	}
	from := len(dst)
	// The last four bytes tell the length, if they are true; deflate cannot
	// shrink by more than 1032.
	told := int(binary.LittleEndian.Uint32(compressed[max(len(compressed)-4, 0):][:min(4, len(compressed))]))
	dst = grown(dst, min(told, limit, 1032*len(compressed))+1)
	for {
		if len(dst) == cap(dst) {
			dst = grown(dst, max(len(dst)-from, V7Size))
		}
		n, err := z.Read(dst[len(dst):min(cap(dst), from+limit+1)])
		dst = dst[:len(dst)+n]
		if len(dst)-from > limit {
			return dst[:from], recordError("more than %d bytes", limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst[:from], damaged(err)
		}
	}
}

// grown returns b with room for n bytes more.
func grown(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n), b...)
}

// damaged marks what gzip says of damaged data.
func damaged(err error) error {
	if errors.Is(gzipError(err), ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorruptRecord, err)
	}
	return err
}
