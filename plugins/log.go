package plugins

import (
	"io"
	"log/slog"
	"strings"
)

// newLogHandler returns a handler that writes the JSON lines of go-hclog, which
// go-plugin's host reads from a plugin's standard error. All levels are written:
// the host decides what it shows.
func newLogHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: hclogAttr})
}

// hclogAttr gives a record's own fields the names and forms of go-hclog.
func hclogAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
		}
	case slog.MessageKey:
		return slog.String("@message", a.Value.String())
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("@level", levelName(level))
		}
	}
	if strings.HasPrefix(a.Key, "@") { // the host takes these for its own
		a.Key = "at_" + a.Key[1:]
	}
	return a
}

// levelName returns go-hclog's name of a level.
func levelName(l slog.Level) string {
	l = min(max(l&^3, slog.LevelDebug), slog.LevelError) // down to one that has a name
	return strings.ToLower(l.String())
}
