package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// LogOptions configures NewLogger.
type LogOptions struct {
	Level    slog.Level
	JSON     bool      // form of the file; else key=value text
	File     string    // empty = no file
	MaxBytes int64     // size at which the file is rotated; 0 = never
	Keep     int       // rotated files that are kept
	Terminal io.Writer // one line a record, normally a *Progress or os.Stderr; nil = none; without File, tracebacks below it
	Quiet    bool      // only warnings and errors on the terminal
	// OnError is added to errors in the file, beside the stack: the effective
	// configuration, for example.
	OnError []slog.Attr
}

// NewLogger returns a logger for a process. Closing closes the file. On the
// terminal a record is one line; in the file an error also carries the stack and
// OnError.
func NewLogger(opt LogOptions) (*slog.Logger, io.Closer, error) {
	var handlers []slog.Handler
	var closer io.Closer = io.NopCloser(nil)
	if opt.File != "" {
		file, err := openRotating(opt.File, opt.MaxBytes, opt.Keep)
		if err != nil {
			return nil, nil, err
		}
		closer = file
		ho := &slog.HandlerOptions{Level: opt.Level}
		var h slog.Handler = slog.NewTextHandler(file, ho)
		if opt.JSON {
			h = slog.NewJSONHandler(file, ho)
		}
		handlers = append(handlers, withStack(h, opt.OnError))
	}
	if opt.Terminal != nil {
		level := opt.Level
		if opt.Quiet {
			level = max(level, slog.LevelWarn)
		}
		handlers = append(handlers, newLineHandler(opt.Terminal, level, opt.File))
	}
	return slog.New(slog.NewMultiHandler(handlers...)), closer, nil
}

// wrapped is a handler whose records go through a function first, those of the handlers made
// of it, too.
type wrapped struct {
	slog.Handler
	handle func(context.Context, slog.Handler, slog.Record) error
}

func (w wrapped) Handle(ctx context.Context, r slog.Record) error { return w.handle(ctx, w.Handler, r) }

func (w wrapped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return wrapped{w.Handler.WithAttrs(attrs), w.handle}
}

func (w wrapped) WithGroup(name string) slog.Handler {
	return wrapped{w.Handler.WithGroup(name), w.handle}
}

// withStack adds the stack and more to errors.
func withStack(h slog.Handler, more []slog.Attr) slog.Handler {
	return wrapped{h, func(ctx context.Context, h slog.Handler, r slog.Record) error {
		if r.Level >= slog.LevelError {
			r.AddAttrs(slog.String("stack", string(debug.Stack())))
			r.AddAttrs(more...)
		}
		return h.Handle(ctx, r)
	}}
}

// newLineHandler makes one short line of a record, for a terminal. What it wraps writes
// the record as text, of which it takes the attributes. An attribute traceback is whole in
// the log's file; where there is none it follows, unless it was the last one, too.
func newLineHandler(out io.Writer, level slog.Level, file string) slog.Handler {
	var mu sync.Mutex // one line at a time
	var text bytes.Buffer
	var last, below string // tracebacks: the last one, and what of it follows the line
	short := func(_ []string, a slog.Attr) slog.Attr {
		switch whole := a.Value.String(); {
		case a.Value.Kind() == slog.KindFloat64:
			a.Value = slog.StringValue(strconv.FormatFloat(a.Value.Float64(), 'g', 5, 64))
		case a.Key != "traceback":
		case file != "":
			a.Value = slog.StringValue("whole in " + file)
		case whole == last:
			a.Value = slog.StringValue("as above")
		default:
			last, below = whole, "    "+strings.ReplaceAll(whole, "\n", "\n    ")+"\n"
			a.Value = slog.StringValue("below")
		}
		return a
	}
	asText := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level, ReplaceAttr: short})
	return wrapped{asText, func(ctx context.Context, h slog.Handler, r slog.Record) error {
		mu.Lock()
		defer mu.Unlock()
		begin, level := r.Time.Format("15:04:05")+" ", ""
		if r.Level != slog.LevelInfo {
			level = strings.ToLower(r.Level.String()) + ": "
		}
		message := strings.ReplaceAll(strings.TrimSpace(r.Message), "\n", " | ")
		r.Time, r.Message = time.Time{}, ""
		text.Reset()
		below = ""
		if err := h.Handle(ctx, r); err != nil {
			return err
		}
		_, attrs, _ := strings.Cut(text.String(), `msg=""`)
		_, err := io.WriteString(out, begin+level+message+attrs+below)
		return err
	}}
}

// rotatingFile is an append-only log file that is renamed to NAME.1 (and NAME.1
// to NAME.2, ...) before a write would make it longer than max. Safe for
// concurrent use.
type rotatingFile struct {
	path string
	max  int64 // bytes; 0 = never rotated
	keep int   // renamed files that stay

	mu   sync.Mutex
	f    *os.File
	size int64
}

func openRotating(path string, max int64, keep int) (*rotatingFile, error) {
	if err := fsx.MkdirAll(fsx.OS, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	r := &rotatingFile{path: path, max: max, keep: keep}
	return r, r.open()
}

func (r *rotatingFile) open() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open log file: %w", err)
	}
	r.f, r.size = f, info.Size()
	return nil
}

// Write appends one log line.
func (r *rotatingFile) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.max > 0 && r.size > 0 && r.size+int64(len(b)) > r.max {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Write(b)
	r.size += int64(n)
	return n, err
}

// rotate renames the files upwards, the oldest falls off.
func (r *rotatingFile) rotate() error {
	err := r.f.Close()
	if err == nil && r.keep == 0 {
		err = os.Remove(r.path)
	}
	for n := r.keep; n > 0 && err == nil; n-- {
		from := r.path
		if n > 1 {
			from = fmt.Sprintf("%s.%d", r.path, n-1)
		}
		if err = os.Rename(from, fmt.Sprintf("%s.%d", r.path, n)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("rotate log file: %w", err)
	}
	return r.open()
}

// Close closes the file.
func (r *rotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}

// RemoveOldLogs removes all but the newest of the logs that a pattern names, with what was
// rotated away from them. Their names have the time in them.
func RemoveOldLogs(pattern string, keep int) (err error) {
	logs, err := filepath.Glob(pattern) // sorted
	for len(logs) > keep {
		rotated, _ := filepath.Glob(logs[0] + ".*") // the pattern was well-formed before
		for _, path := range append(rotated, logs[0]) {
			err = errors.Join(err, os.Remove(path))
		}
		logs = logs[1:]
	}
	return err
}
