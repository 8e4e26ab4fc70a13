package monitor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// MetricsName is the file of events in a job's metrics directory: one JSON
// object a line.
const MetricsName = "metrics.jsonl"

// FilesState is what a checkpoint keeps of the metric files, as JSON. The zero
// value is a run without checkpoint.
type FilesState struct {
	MetricsOffset int64  `json:"metrics_offset"` // bytes of metrics.jsonl
	Seq           uint64 `json:"seq"`            // of the last event in it; the Bus goes on from it
	EventsFile    string `json:"events_file"`    // TensorBoard file, without directory; "" = none
	EventsOffset  int64  `json:"events_offset"`
}

// FilesOptions configures OpenFiles.
type FilesOptions struct {
	Dir         string // the job's: <metrics>/<job>; created if missing
	Job         string // part of the event file's name
	TensorBoard bool
	Now         func() time.Time // names the event file; nil = time.Now
}

// FilesInfo says what OpenFiles did to files that were there.
type FilesInfo struct {
	Moved []string // files of an earlier run that were renamed out of the way
	Lost  int64    // bytes of metrics.jsonl that the checkpoint knew and that are gone
}

// Files writes metrics.jsonl and the TensorBoard event file. It is a Sink
// without loss: Handle buffers and at times hands over to the operating system, Sync
// makes durable. Safe for concurrent use.
type Files struct {
	mu      sync.Mutex
	metrics *appendFile
	board   *tensorBoard // nil = off
	seq     uint64
	buf     []byte
	flushed time.Time // time of the event that was last followed by a flush
}

// flushEvery is the event time after which Handle flushes, so that a reader of
// the files is at most so far behind.
const flushEvery = time.Second

// OpenFiles opens the metric files of a job as a checkpoint knew them: what was
// written after it is cut off, so that steps that are trained again do not
// appear twice. With the zero state existing files are renamed; the newest
// keptAside of them stay.
func OpenFiles(opt FilesOptions, state FilesState) (_ *Files, info FilesInfo, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open metrics: %w", err)
		}
	}()
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if err := fsx.MkdirAll(fsx.OS, opt.Dir); err != nil {
		return nil, info, err
	}
	path := filepath.Join(opt.Dir, MetricsName)
	if err := moveForeign(opt.Dir, state, &info); err != nil {
		return nil, info, err
	}
	whole, err := wholeLines(path, state.MetricsOffset)
	if err != nil {
		return nil, info, err
	}
	if size, err := os.Stat(path); err == nil && size.Size() >= state.MetricsOffset && whole != state.MetricsOffset {
		return nil, info, &CorruptError{Path: path, Offset: state.MetricsOffset, Reason: "the checkpoint's offset is in the middle of a line; move the file away: the run goes on without it"}
	}
	info.Lost = state.MetricsOffset - whole
	f := &Files{seq: state.Seq}
	if f.metrics, err = openAppend(path, whole); err != nil {
		return nil, info, err
	}
	if opt.TensorBoard {
		f.board, err = openBoard(opt, state, path)
	}
	if err != nil {
		return nil, info, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// moveForeign renames files that the state does not know: all of a job without
// checkpoint, and event files other than the state's.
func moveForeign(dir string, state FilesState, info *FilesInfo) error {
	move := func(name, to string) error {
		to, err := moveAside(filepath.Join(dir, name), to)
		if to != "" {
			info.Moved = append(info.Moved, to)
		}
		return err
	}
	if state.MetricsOffset == 0 {
		if err := CutTorn(filepath.Join(dir, MetricsName)); err != nil {
			return err
		}
		if err := move(MetricsName, "metrics_old%d.jsonl"); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), eventsPrefix) || e.Name() == state.EventsFile {
			continue
		}
		// Without "tfevents" in the name TensorBoard does not show it.
		if err := move(e.Name(), "events_old%d"); err != nil {
			return err
		}
	}
	return nil
}

// Handle implements Sink.
func (f *Files) Handle(e Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.buf, err = AppendJSON(f.buf[:0], e); err != nil {
		return err
	}
	if _, err := f.metrics.Write(f.buf); err != nil {
		return err
	}
	if f.board != nil {
		if err := f.board.Handle(e); err != nil {
			return err
		}
	}
	h := e.Head()
	f.seq = h.Seq
	if _, isStep := e.(*Step); isStep && h.Time.Sub(f.flushed) < flushEvery {
		return nil
	}
	f.flushed = h.Time
	return f.flush()
}

// flush makes everything visible to readers of the files.
func (f *Files) flush() error {
	err := f.metrics.Flush()
	if f.board != nil {
		err = errors.Join(err, f.board.file.Flush())
	}
	return err
}

// Sync makes everything handled so far durable and returns the state for a
// checkpoint: opening with it shows exactly these events.
func (f *Files) Sync() (FilesState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := FilesState{Seq: f.seq}
	var err error
	if s.MetricsOffset, err = f.metrics.sync(); err != nil {
		return FilesState{}, err
	}
	if f.board != nil {
		s.EventsFile = filepath.Base(f.board.file.file.Path())
		if s.EventsOffset, err = f.board.file.sync(); err != nil {
			return FilesState{}, err
		}
	}
	return s, nil
}

// Close makes everything durable and closes the files.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.metrics.close()
	if f.board != nil {
		err = errors.Join(err, f.board.file.close())
	}
	return err
}

// appendFile is a buffered file that only grows, and that a resume cuts back to where
// a checkpoint knew it.
type appendFile struct {
	*bufio.Writer
	file *fsx.AppendFile
}

// openAppend opens or creates the file and cuts it to size bytes. It fails with
// errShort, changing nothing, where the file has fewer.
func openAppend(path string, size int64) (*appendFile, error) {
	f, err := fsx.OpenAppend(fsx.OS, path)
	if err != nil {
		return nil, err
	}
	if have := f.Size(); have < size {
		err = fmt.Errorf("%s: %w: %d of %d bytes", path, errShort, have, size)
	} else if have > size {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &appendFile{bufio.NewWriterSize(f, 1<<16), f}, nil
}

var errShort = errors.New("shorter than the checkpoint says")

// sync returns the size once all of it is on stable storage.
func (a *appendFile) sync() (int64, error) {
	if err := a.Flush(); err != nil {
		return 0, err
	}
	return a.file.Size(), a.file.Sync()
}

// close makes all of it durable and closes the file.
func (a *appendFile) close() error {
	_, err := a.sync()
	return errors.Join(err, a.file.Close())
}

// keptAside is how many renamed files of a kind a directory keeps: a service may start a
// training that fails before its first checkpoint for ever.
const keptAside = 100

// moveAside renames a file that holds anything to the first free name of format with 1 to
// keptAside in its directory, else over the oldest of them, and returns the new name; ""
// where there was nothing to keep.
func moveAside(path, format string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", path, err)
	}
	to, oldest := "", time.Time{}
	for n := 1; n <= keptAside; n++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(format, n))
		there, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			to = name
			break
		}
		if err == nil && (to == "" || there.ModTime().Before(oldest)) {
			to, oldest = name, there.ModTime()
		}
	}
	if err := fsx.OS.Rename(path, to); err != nil {
		return "", fmt.Errorf("move %s aside: %w", path, err)
	}
	return to, nil
}

// CutTorn cuts off a last line of events that is not whole, where nobody goes on writing.
func CutTorn(path string) error {
	whole, err := wholeLines(path, math.MaxInt64)
	if info, statErr := os.Stat(path); err != nil || statErr != nil || info.Size() == whole {
		return err
	}
	f, err := openAppend(path, whole)
	if err != nil {
		return err
	}
	return f.close()
}

// wholeLines returns the length of the whole lines among the first limit bytes
// of a file; 0 where there is no file.
func wholeLines(path string, limit int64) (int64, error) {
	f, err := fsx.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", path, err)
	}
	end := min(info.Size(), limit)
	for end > 0 {
		start := max(end-1<<16, 0)
		block := make([]byte, end-start)
		if _, err := f.ReadAt(block, start); err != nil {
			return 0, fmt.Errorf("read %s: %w", path, err)
		}
		if i := bytes.LastIndexByte(block, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}
