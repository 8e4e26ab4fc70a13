package uci

import (
	"bufio"
	"io"
)

// maxCommand bounds a line of the GUI in bytes: a position with some 200 000 moves.
const maxCommand = 1 << 20

// input is a line of the GUI; of one that is longer than maxCommand only the beginning.
type input struct {
	text    string
	tooLong bool
}

// readLines calls use with each line of r, with its end, until r ends or fails or use
// returns false. What a line has beyond most bytes is left out; long says so.
func readLines(r io.Reader, most int, use func(text string, long bool) bool) error {
	in := bufio.NewReaderSize(r, min(most, 64<<10))
	var line []byte
	for size := 0; ; {
		part, err := in.ReadSlice('\n')
		size += len(part)
		line = append(line, part[:min(len(part), most-len(line))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if (size > 0 || err == nil) && !use(string(line), size > most) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
		line, size = line[:0], 0
	}
}
