package monitor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// Tail reads the lines of a metrics.jsonl as it grows. The zero value has read nothing.
type Tail struct {
	offset int64  // of the first line that was not read
	last   []byte // the line before it
}

// Offset returns how many bytes were read.
func (t *Tail) Offset() int64 { return t.offset }

// Fits says whether file is the one that was read, grown or not. One that was cut back to a
// checkpoint is another, also if it has grown again.
func (t *Tail) Fits(file io.ReaderAt) bool {
	line := make([]byte, len(t.last))
	n, _ := file.ReadAt(line, t.offset-int64(len(line))) // too few = it was cut back
	return bytes.Equal(line[:n], t.last)
}

// Read hands the lines that follow to take, which keeps none of them, until it wants no more
// or there is no whole one: end says so. What is left is still being written. Errors, also
// those of take, name the byte at which their line begins.
func (t *Tail) Read(file io.ReaderAt, take func(line []byte) (more bool, err error)) (end bool, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, t.offset, math.MaxInt64-t.offset), MaxLine)
	for more := true; more; {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			more, err = take(line)
		}
		if err != nil {
			return false, fmt.Errorf("byte %d: %w", t.offset, err)
		}
		t.offset, t.last = t.offset+int64(len(line)), append(t.last[:0], line...)
	}
	return false, nil
}
