package monitor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// eventsPrefix begins the name of every TensorBoard event file.
const eventsPrefix = "events.out.tfevents."

// boardVersion is the first event of every file.
const boardVersion = "brain.Event:2"

// tensorBoard writes the scalars of events as a TensorBoard event file.
type tensorBoard struct {
	file      *appendFile
	msg, data []byte // reused
}

// openBoard opens the event file that the state knows, cut to its offset. Where
// that cannot be, a new file is filled from metrics.jsonl, which must be cut
// already.
func openBoard(opt FilesOptions, state FilesState, metrics string) (*tensorBoard, error) {
	if state.EventsFile != "" && state.EventsFile == filepath.Base(state.EventsFile) && strings.HasPrefix(state.EventsFile, eventsPrefix) {
		path := filepath.Join(opt.Dir, state.EventsFile)
		if _, statErr := os.Stat(path); statErr == nil {
			file, err := openAppend(path, state.EventsOffset)
			if err == nil {
				return &tensorBoard{file: file}, nil
			}
			if !errors.Is(err, errShort) {
				return nil, err
			}
			if err := os.Remove(path); err != nil { // all that it held is in metrics.jsonl
				return nil, fmt.Errorf("remove a cut event file: %w", err)
			}
		}
	}
	path := filepath.Join(opt.Dir, fmt.Sprintf("%s%010d.%s", eventsPrefix, opt.Now().Unix(), cmp.Or(opt.Job, "chessbrain")))
	file, err := openAppend(path, 0)
	if err != nil {
		return nil, err
	}
	b := &tensorBoard{file: file}
	if err := b.rebuild(metrics, opt.Now()); err != nil {
		return nil, errors.Join(err, file.close())
	}
	return b, nil
}

// rebuild writes the version event and the scalars of everything in
// metrics.jsonl.
func (b *tensorBoard) rebuild(metrics string, now time.Time) error {
	if err := b.write(&tfEvent{wallTime: wallTime(now), version: boardVersion}); err != nil {
		return err
	}
	in, err := os.Open(metrics)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	defer in.Close()
	_, err = Replay(in, b.Handle)
	return err
}

// Handle implements Sink.
func (b *tensorBoard) Handle(e Event) error {
	x, scalars := Scalars(e)
	if len(scalars) == 0 {
		return nil
	}
	return b.write(&tfEvent{wallTime: wallTime(e.Head().Time), step: x, scalars: scalars})
}

func (b *tensorBoard) write(e *tfEvent) error {
	b.msg = e.append(b.msg[:0])
	b.data = appendRecord(b.data[:0], b.msg)
	_, err := b.file.Write(b.data)
	return err
}

func wallTime(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
