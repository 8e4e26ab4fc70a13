package host

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	maxLogLine = 64 << 10 // bytes of a line of a plugin's log; the rest is cut
	keptLines  = 40       // last lines, to say why a plugin died
)

// logs takes what a plugin writes and passes it to the run's log, line by line.
// Lines of JSON in hclog's form, which the SDK writes, keep their level and
// attributes; others are text. (go-plugin's own reader of these lines panics on
// a field of another type, so a plugin could end the host with its log.)
type logs struct {
	log *slog.Logger // has plugin=NAME

	mu   sync.Mutex
	last []string // messages, oldest first
}

// read logs all lines of r until its end.
func (l *logs) read(r io.Reader) {
	in, trace := bufio.NewReaderSize(r, maxLogLine), ""
	for {
		line, err := in.ReadSlice('\n')
		trace = l.follow(trace, string(line))
		for err == bufio.ErrBufferFull { // the rest of a line that is too long
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			l.follow(trace, "")
			return
		}
	}
}

// follow logs a line after those of a traceback that have come, if any, and returns these
// with it. The first that is not indented is the exception: then all are one record.
func (l *logs) follow(trace, text string) string {
	text = strings.TrimRight(text, "\r\n")
	inner := strings.HasPrefix(text, " ") && len(trace) < maxLogLine
	switch {
	case trace != "" && inner, trace == "" && (strings.HasPrefix(text, "Traceback (most recent call last):") || strings.HasPrefix(text, `  File "`)):
		return trace + text + "\n"
	case trace != "":
		whole, _ := json.Marshal(map[string]string{"@level": "error", "@message": trace + text})
		l.line(string(whole))
	default:
		l.line(text)
	}
	return ""
}

// Write logs what comes through go-plugin's copy of a plugin's redirected
// standard output and error. A line is what one call brings.
func (l *logs) Write(p []byte) (int, error) {
	for line := range strings.SplitSeq(string(p), "\n") {
		l.line(line[:min(len(line), maxLogLine)])
	}
	return len(p), nil
}

func (l *logs) line(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	level, message, attrs := parseLog(text)
	l.mu.Lock()
	l.last = append(l.last, message)
	if len(l.last) > keptLines {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.mu.Unlock()
	l.log.LogAttrs(context.Background(), level, message, attrs...)
}

// reason returns the line that says best why the process died: the last panic's,
// else the last one; "" where it said nothing.
func (l *logs) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := ""
	for _, text := range slices.Backward(l.last) {
		if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
			return text
		}
		said = cmp.Or(said, text)
	}
	return said
}

// parseLog takes a line apart. Attributes come sorted by name.
func parseLog(text string) (slog.Level, string, []slog.Attr) {
	var fields map[string]any
	if text[0] != '{' || json.Unmarshal([]byte(text), &fields) != nil {
		return slog.LevelInfo, printable(text), nil
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return slog.LevelInfo, printable(text), nil
	}
	level, _ := fields["@level"].(string)
	var attrs []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(key, "@") { // message, level, time stamp, module
			continue
		}
		value := fields[key]
		if s, ok := value.(string); ok {
			s = printable(s)
			if value = s; key == "traceback" {
				attrs = append(attrs, slog.String("exception", exceptionOf(s)))
			}
		}
		attrs = append(attrs, slog.Any(printable(key), value))
	}
	if message = printable(strings.TrimRight(message, "\n")); strings.Contains(message, `  File "`) {
		attrs = append(attrs, slog.String("traceback", message))
		message = exceptionOf(message)
	}
	return levelOf(level), strings.ReplaceAll(message, "\n", " | "), attrs
}

// exceptionOf is what a traceback ends with: the lines after the last one above an indented
// one, on one line.
func exceptionOf(traceback string) string {
	lines := strings.Split(strings.TrimSpace(traceback), "\n")
	last := len(lines) - 1
	for last > 0 && !strings.HasPrefix(lines[last-1], " ") {
		last--
	}
	return strings.TrimSpace(strings.Join(lines[last:], " | "))
}

// levelOf is slog's level of hclog's name; Info where it has none.
func levelOf(name string) (level slog.Level) {
	if strings.EqualFold(name, "trace") {
		return slog.LevelDebug
	}
	level.UnmarshalText([]byte(name)) // an error leaves Info
	return level
}

// printable replaces what a terminal would obey, but not the ends of lines.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
