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

// Show shows a run with a name on the terminal out until q or Ctrl-C is typed on in, or ctx
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
		go readKeys(ctx, in, keys) // it ends with the process: a read cannot be interrupted
	}
	s := NewScreen(r, name, os.Getenv("NO_COLOR") == "")
	return s.loop(ctx, keys, func() (columns, lines int) { return monitor.TerminalSize(out) }, out)
}

// loop draws the screen until a key or ctx ends it. Looking and what keys ask for is done
// beside it, one look at a time.
func (s *Screen) loop(ctx context.Context, keys <-chan Key, size func() (columns, lines int), out io.Writer) error {
	answers := make(chan func(), 8)
	start := func(w Work, done func()) {
		go func() {
			answer := w(ctx)
			select {
			case answers <- func() { answer(); done() }:
			case <-ctx.Done():
			}
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
		case k := <-keys:
			work, quit := s.Key(k)
			if quit {
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
	"\x03": "q", "\x04": "q",
}

// readKeys sends the keys that are typed. What a terminal sends for one key arrives whole.
func readKeys(ctx context.Context, in io.Reader, keys chan<- Key) {
	buffer := make([]byte, 256)
	for {
		n, err := in.Read(buffer)
		for _, k := range keysOf(string(buffer[:n])) {
			select {
			case keys <- k:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// keysOf splits what was read at once into keys: longest sequences first.
func keysOf(text string) (keys []Key) {
	for len(text) > 0 {
		size := min(len(text), 4)
		for size > 1 && sequences[text[:size]] == "" {
			size--
		}
		k := sequences[text[:size]]
		switch {
		case text[0] == '\x1b' && size == 1 && len(text) > 1: // a key that is not known
			k, size = "", len(text)
		case k != "":
		case text[0] >= ' ':
			r, bytes := utf8.DecodeRuneInString(text)
			k, size = Key(r), bytes
		}
		if k != "" {
			keys = append(keys, k)
		}
		text = text[size:]
	}
	return keys
}
