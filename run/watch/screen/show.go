package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// lookEvery is how often the run is looked at; pages without boards are every second time.
const lookEvery, slowLook = time.Second, 2

// Another screen without a cursor, and back: ECMA-48 as xterm extends it.
const begin, end = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"

// Show shows a run with a name on the terminal out until q or Ctrl-C is typed on in, in or ctx
// ends. in may be no terminal: nothing is typed then.
func Show(ctx context.Context, in, out *os.File, r Run, name string) (err error) {
	if monitor.IsTerminal(in) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
		defer term.Restore(int(in.Fd()), old)
	}
	if _, err := io.WriteString(out, begin); err != nil {
		return err
	}
	defer func() {
		_, endErr := io.WriteString(out, end)
		err = errors.Join(err, endErr)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys := make(chan Key)
	if monitor.IsTerminal(in) {
		go readKeys(ctx, in, escapeWait, keys) // it ends with the process: a read cannot be interrupted
	}
	s := NewScreen(r, name, os.Getenv("NO_COLOR") == "")
	return s.loop(ctx, keys, func() (columns, lines int) {
		if columns, lines = monitor.TerminalSize(out); columns == 0 || lines == 0 { // not known
			return 80, 24
		}
		return columns, lines
	}, out)
}

// loop draws the screen until a key or ctx ends it. Looking and what keys ask for is done
// beside it, one look at a time.
func (s *Screen) loop(ctx context.Context, keys <-chan Key, size func() (columns, lines int), out io.Writer) error {
	answers := make(chan func(), 8)
	start := func(w Work, done func()) {
		go func() {
			var answer func()
			defer func() {
				if p := recover(); p != nil {
					answer = func() { panic(p) } // where the terminal is given back
				}
				select {
				case answers <- func() { answer(); done() }:
				case <-ctx.Done():
				}
			}()
			answer = w(ctx)
		}()
	}
	looking := false
	look := func() {
		if !looking {
			looking = true
			start(s.Look(), func() { looking = false })
		}
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	look()
	for changed, ticks := true, 1; ; {
		if changed {
			columns, lines := size()
			text := strings.Join(s.Draw(columns, lines), "\x1b[K\r\n")
			if _, err := io.WriteString(out, "\x1b[H"+text+"\x1b[K\x1b[J"); err != nil {
				return err
			}
		}
		changed = true
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if ticks++; ticks%slowLook == 0 || s.page == overview || s.page == games {
				look()
			}
			changed = false
		case take := <-answers:
			take()
		case k, open := <-keys:
			work, quit := s.Key(k)
			if quit || !open {
				return nil
			}
			if work != nil {
				start(work, func() {})
			}
		}
	}
}

// sequences are what terminals send for keys without a character.
var sequences = map[string]Key{
	"\x1b[A": Up, "\x1b[B": Down, "\x1b[C": Right, "\x1b[D": Left, "\x1b[H": Home, "\x1b[F": End,
	"\x1bOA": Up, "\x1bOB": Down, "\x1bOC": Right, "\x1bOD": Left, "\x1bOH": Home, "\x1bOF": End,
	"\x1b[1~": Home, "\x1b[4~": End, "\x1b[5~": Left, "\x1b[6~": Right,
	"\r": Enter, "\n": Enter, "\t": Tab, "\x7f": Backspace, "\b": Backspace, "\x1b": Escape,
	"\x03": Interrupt, "\x04": Interrupt,
}

// escapeWait is how long the rest of a key may take to arrive; what is left then was typed
// as it is, such as the escape key itself.
const escapeWait = 50 * time.Millisecond

// readKeys sends the keys that are typed, and closes keys at the end of the input. The rest of
// a key is waited for so long.
func readKeys(ctx context.Context, in io.Reader, wait time.Duration, keys chan<- Key) {
	defer close(keys)
	chunks := make(chan string)
	go func() {
		defer close(chunks)
		buffer := make([]byte, 256)
		for {
			n, err := in.Read(buffer)
			select {
			case chunks <- string(buffer[:n]):
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for text, open := "", true; open; {
		var late <-chan time.Time // nil waits for ever
		if text != "" {
			late = time.After(wait)
		}
		more, final := "", false
		select {
		case more, open = <-chunks:
		case <-late:
			final = true
		case <-ctx.Done():
			return
		}
		var typed []Key
		typed, text = keysOf(text+more, final || !open)
		for _, k := range typed {
			select {
			case keys <- k:
			case <-ctx.Done():
				return
			}
		}
	}
}

// keysOf splits what was typed into keys. rest is the beginning of one, which final takes as
// it is.
func keysOf(text string, final bool) (keys []Key, rest string) {
	for len(text) > 0 {
		size := 1
		switch {
		case text[0] == '\x1b' && len(text) > 1 && (text[1] == '[' || text[1] == 'O'):
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= 0x40 && r < 0x7f })
			if end < 0 && !final {
				return keys, text
			}
			size = min(2+end+1, len(text))
			if end < 0 {
				size = len(text)
			}
		case text[0] == '\x1b' && len(text) == 1 && !final, !utf8.FullRuneInString(text) && !final:
			return keys, text
		case text[0] >= ' ' && text[0] != 0x7f:
			r, bytes := utf8.DecodeRuneInString(text)
			keys, size = append(keys, Key(r)), bytes
		}
		if k := sequences[text[:size]]; k != "" { // keys that are not known do nothing
			keys = append(keys, k)
		}
		text = text[size:]
	}
	return keys, ""
}
