package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// maxLine is the longest line that is read, in bytes.
	maxLine = 1 << 20
	// outQueue is how many messages may wait for a reader that does not follow:
	// some twenty minutes of status.
	outQueue = 1024
	// lastWords is how long a reader may take for what is left at the end.
	lastWords = 5 * time.Second
)

// line is a line of the input. err says why it cannot be understood.
type line struct {
	number int
	kind   string
	config string
	err    error
}

// read delivers the lines of in until it ends, and then hangs up. A line that is
// too long is one that cannot be understood. Empty lines do not count.
func read(ctx context.Context, in io.Reader, lines chan<- line, hangUp func()) {
	defer hangUp()
	defer close(lines)
	r := bufio.NewReaderSize(in, maxLine)
	for number := 1; ; number++ {
		text, whole, err := readLine(r)
		if text = bytes.TrimSpace(text); len(text) > 0 || !whole {
			l := line{number: number}
			if whole {
				l.kind, l.config, l.err = parse(text)
			} else {
				l.err = fmt.Errorf("a line of more than %d bytes", maxLine)
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return // io.EOF, or nobody is there any more
		}
	}
}

// readLine returns a line; whole is false for one that is too long, whose text
// is dropped.
func readLine(r *bufio.Reader) (text []byte, whole bool, err error) {
	text, err = r.ReadSlice('\n')
	for whole = true; errors.Is(err, bufio.ErrBufferFull); text, whole = nil, false {
		_, err = r.ReadSlice('\n')
	}
	return text, whole, err
}

// writer writes lines in a goroutine of its own, so that who does not read them
// holds up nothing.
type writer struct {
	lines   chan []byte
	done    chan struct{}
	dropped atomic.Int64 // for which there was no room
}

// newWriter returns a writer to out. hangUp is called when out takes no more.
func newWriter(out io.Writer, hangUp func()) *writer {
	w := &writer{lines: make(chan []byte, outQueue), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		var err error
		for text := range w.lines { // also those that nobody takes any more
			if err == nil {
				if _, err = out.Write(text); err != nil {
					hangUp()
				}
			}
		}
	}()
	return w
}

// send queues a line, or drops it where the queue is full.
func (w *writer) send(text []byte) {
	select {
	case w.lines <- text:
	default:
		w.dropped.Add(1)
	}
}

// close writes what is queued. A reader that does not take it in time loses it.
func (w *writer) close() {
	close(w.lines)
	select {
	case <-w.done:
	case <-time.After(lastWords):
	}
}
