package uci

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// maxCommand bounds a line of the GUI in bytes: a position with some 200 000 moves.
const maxCommand = 1 << 20

// input is a line of the GUI without its end.
type input struct {
	text    string
	tooLong bool // longer than maxCommand; text is empty
}

// readInputs feeds inputs until in ends; then failed has the error, or nil.
func readInputs(ctx context.Context, in io.Reader, inputs chan<- input, failed chan<- error) {
	defer close(inputs)
	r := bufio.NewReader(in)
	for {
		i, err := readInput(r)
		if err != nil && err != io.EOF {
			failed <- err
			return
		}
		if err == nil || i.text != "" || i.tooLong {
			select {
			case inputs <- i:
			case <-ctx.Done():
				failed <- nil
				return
			}
		}
		if err == io.EOF {
			failed <- nil
			return
		}
	}
}

// readInput reads a line; at the end of r it returns what is left with io.EOF.
func readInput(r *bufio.Reader) (i input, err error) {
	var buf []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) > maxCommand {
			i.tooLong = true
			buf = buf[:0]
		}
		if !i.tooLong {
			buf = append(buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		i.text = string(buf)
		return i, err
	}
}
