package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// stream is the standard output or error. It keeps its first error, which a command may
// overlook; that nobody reads any more is none.
type stream struct {
	file *os.File
	err  error
}

func (s *stream) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if s.err == nil && !errors.Is(err, syscall.EPIPE) {
		s.err = err
	}
	return n, err
}

// console is a stream of text for people: of what a terminal obeys only newline and tab
// pass, and of bytes that are no UTF-8 none.
type console struct {
	stream
	mu   sync.Mutex
	rest []byte // the beginning of a character
}

func (o *console) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	in, text := append(o.rest, b...), make([]byte, 0, len(b)+utf8.UTFMax)
	for utf8.FullRune(in) {
		r, n := utf8.DecodeRune(in)
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' {
			text = append(text, '?')
		} else {
			text = append(text, in[:n]...)
		}
		in = in[n:]
	}
	o.rest = append(o.rest[:0], in...)
	if _, err := o.stream.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// data is where output for other programs goes, as it is.
func data(c *cobra.Command) io.Writer {
	if o, ok := c.OutOrStdout().(*console); ok {
		return &o.stream
	}
	return c.OutOrStdout()
}

// bindJSON registers --json, which answer and answerf honour.
func bindJSON(c *cobra.Command, usage string) { c.Flags().Bool("json", false, usage) }

// wantsJSON says whether --json is given; a command without that flag prints text.
func wantsJSON(c *cobra.Command) bool {
	on, _ := c.Flags().GetBool("json")
	return on
}

// textOut is where a command's text goes that its JSON does not have: nowhere with --json.
func textOut(c *cobra.Command) io.Writer {
	if wantsJSON(c) {
		return io.Discard
	}
	return c.OutOrStdout()
}

// printed is a result that can be printed for a person.
type printed interface {
	Write(out io.Writer) error
}

// answer prints a command's result for a person, or as one JSON object.
func answer(c *cobra.Command, r printed) error {
	if wantsJSON(c) {
		return printJSON(c, r)
	}
	return r.Write(c.OutOrStdout())
}

// answerf is answer for a result of one line, which format says.
func answerf(c *cobra.Command, r any, format string, args ...any) error {
	if wantsJSON(c) {
		return printJSON(c, r)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), format, args...)
	return err
}

// printJSON prints a result as one JSON object on a line of its own.
func printJSON(c *cobra.Command, r any) error { return json.NewEncoder(data(c)).Encode(r) }

// answerLines is answer for several results: write prints them for a person, and in JSON
// each has a line of its own.
func answerLines[T any](c *cobra.Command, lines []T, write func(out io.Writer, lines []T) error) error {
	if !wantsJSON(c) {
		return write(c.OutOrStdout(), lines)
	}
	for i := range lines {
		if err := printJSON(c, &lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// tell returns what writes lines about a command's work to standard error, as its
// errors are written.
func tell(c *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(c.ErrOrStderr(), "chessbrain: %s\n", fmt.Sprintf(format, args...))
	}
}

// tellEach tells of each of some warnings, or of things that had to be left out.
func tellEach[T any](c *cobra.Command, format string, all []T) {
	for _, one := range all {
		tell(c)(format, one)
	}
}

// warnings is a log on standard error of what others have to say, from warnings on.
func warnings(c *cobra.Command) *slog.Logger {
	log, _, _ := monitor.NewLogger(monitor.LogOptions{Terminal: c.ErrOrStderr(), Level: slog.LevelWarn}) // without a file nothing fails
	return log
}
