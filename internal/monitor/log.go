package monitor

import (
	"context"
	"io"
	"log"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
)

// LogOptions configures NewLogger.
type LogOptions struct {
	Level    slog.Level
	JSON     bool      // form of the file; else key=value text
	File     string    // empty = no file
	MaxBytes int64     // size at which the file is rotated; 0 = never
	Keep     int       // rotated files that are kept
	Terminal io.Writer // one line a record, normally a *Progress or os.Stderr; nil = none
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
		handlers = append(handlers, withStack{h, opt.OnError})
	}
	if opt.Terminal != nil {
		level := opt.Level
		if opt.Quiet {
			level = max(level, slog.LevelWarn)
		}
		handlers = append(handlers, &lineHandler{level: level, out: log.New(opt.Terminal, "", 0)})
	}
	return slog.New(slog.NewMultiHandler(handlers...)), closer, nil
}

// withStack adds the stack and more to errors.
type withStack struct {
	slog.Handler
	more []slog.Attr
}

func (w withStack) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		r.AddAttrs(slog.String("stack", string(debug.Stack())))
		r.AddAttrs(w.more...)
	}
	return w.Handler.Handle(ctx, r)
}

func (w withStack) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withStack{w.Handler.WithAttrs(attrs), w.more}
}

func (w withStack) WithGroup(name string) slog.Handler {
	return withStack{w.Handler.WithGroup(name), w.more}
}

// lineHandler makes one short line of a record, for a terminal.
type lineHandler struct {
	level  slog.Level
	out    *log.Logger // one line at a time
	prefix string      // of attribute names, from groups
	attrs  string      // of WithAttrs
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(oneLine(r.Message) + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, h.prefix, a)
		return true
	})
	level := ""
	if r.Level != slog.LevelInfo {
		level = strings.ToLower(r.Level.String()) + ": "
	}
	return h.out.Output(1, r.Time.Format("15:04:05")+" "+level+b.String())
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		writeAttr(&b, h.prefix, a)
	}
	g := *h
	g.attrs += b.String()
	return &g
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	g := *h
	g.prefix += name + "."
	return &g
}

// writeAttr writes " name=value", groups flattened.
func writeAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			writeAttr(b, prefix, inner)
		}
		return
	}
	if a.Equal(slog.Attr{}) {
		return
	}
	text := v.String()
	if v.Kind() == slog.KindFloat64 {
		text = strconv.FormatFloat(v.Float64(), 'g', 5, 64)
	}
	if strings.ContainsAny(text, " \"\n\t=") || text == "" {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + prefix + a.Key + "=" + text)
}

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " | ") }
