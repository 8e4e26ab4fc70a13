package pgn

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Limits of one game; a game beyond them is bad, and memory stays bounded. The
// longest game that the 75-move rule allows has 17 697 plies.
const (
	maxMoves    = 20000
	maxTags     = 256
	maxTagValue = 1 << 16
	maxWord     = 64

	// maxComments bounds the bytes of a game's comments that are kept.
	maxComments = 4 << 20
)

// rawGame is one game as words, not yet looked at with the rules.
type rawGame struct {
	index  int
	line   int // where it starts
	tags   [][2]string
	words  []word // moves only
	result string // "" if the moves end without one
	bad    *GameError

	comments    []string // beside words, no longer than they are; nil = none
	commentSize int      // their bytes
}

type word struct {
	text string
	line int
}

// scanner splits PGN text into games.
type scanner struct {
	r          *bufio.Reader
	line       int
	games      int
	bol        bool // the next byte starts a line
	game       *rawGame
	unreadByte byte // a byte given back by unread, if held
	held       bool
	err        error

	keep bool   // comments of the main line are wanted
	text []byte // of the comment being read, where it is wanted
}

func newScanner(r io.Reader) *scanner {
	s := &scanner{r: bufio.NewReaderSize(r, 1<<16), line: 1, bol: true}
	if b, err := s.r.Peek(3); err == nil && string(b) == "\xef\xbb\xbf" {
		s.r.Discard(3)
	}
	return s
}

// next returns the next game, nil at the end of the input or after a read error
// (then s.err is set).
func (s *scanner) next() *rawGame {
	s.game = nil
	for {
		bol := s.bol
		c, ok := s.read()
		if !ok {
			return s.take()
		}
		switch {
		case strings.IndexByte(" \t\n\r\v\f.", c) >= 0:
			continue
		case c == '%' && bol:
			s.upTo('\n', false)
			continue
		case c == ';':
			s.upTo('\n', s.keep)
			s.attach()
			continue
		case c == '[' && s.game != nil && (len(s.game.words) > 0 || s.game.bad != nil || s.peekTagKnown()):
			s.unread(c)
			return s.take()
		}
		s.begin()
		switch c {
		case '[':
			s.tag()
		case '{':
			if !s.comment(s.keep) {
				return s.take()
			}
			s.attach()
		case '(':
			if !s.variation() {
				return s.take()
			}
		case '<':
			s.fail(s.line, "expansion in < > is not known")
			s.upTo('\n', false)
		case '$':
			s.digits()
		case '*':
			s.game.result = "*"
			return s.take()
		case ')', '}', ']', '>':
			s.fail(s.line, "closing "+string(c)+" without an opening one")
		default:
			s.unread(c)
			if s.symbol() {
				return s.take()
			}
		}
	}
}

// take hands the current game out.
func (s *scanner) take() *rawGame {
	g := s.game
	s.game = nil
	return g
}

// begin opens a game where none is open.
func (s *scanner) begin() {
	if s.game == nil {
		s.game = &rawGame{index: s.games, line: s.line}
		s.games++
	}
}

// fail marks the current game bad; the first reason stays.
func (s *scanner) fail(line int, reason string) {
	if s.game.bad == nil {
		s.game.bad = &GameError{Index: s.game.index, Line: line, Reason: reason}
	}
}

func (s *scanner) read() (byte, bool) {
	if s.held {
		s.held = false
		return s.unreadByte, true
	}
	c, err := s.r.ReadByte()
	if err != nil {
		if err != io.EOF {
			s.err = err
		}
		return 0, false
	}
	s.bol = c == '\n'
	if s.bol {
		s.line++
	}
	return c, true
}

// unread gives back the last byte, which must not be a line feed. (UnreadByte of
// bufio fails after a Peek.)
func (s *scanner) unread(c byte) { s.unreadByte, s.held, s.bol = c, true, false }

// upTo reads on to end and keeps what stands before it for attach if it is wanted.
// False where the input ends first, or the next game begins.
func (s *scanner) upTo(end byte, wanted bool) bool {
	s.text = s.text[:0]
	for {
		c, ok := s.read()
		if !ok || c == end {
			return ok
		}
		if c == '\n' && s.nextGameAhead() {
			return false
		}
		if wanted && len(s.text) <= maxComments {
			s.text = append(s.text, c)
		}
	}
}

func (s *scanner) digits() {
	c, ok := s.read()
	for ok && c >= '0' && c <= '9' {
		c, ok = s.read()
	}
	if ok && c != '\n' {
		s.unread(c)
	}
}

// peekTagKnown reports whether the tag whose [ was just read repeats one of the
// current game, which then had no moves.
func (s *scanner) peekTagKnown() bool {
	ahead, _ := s.r.Peek(40)
	text := strings.TrimLeft(string(ahead), " \t")
	for _, t := range s.game.tags {
		if rest, ok := strings.CutPrefix(text, t[0]); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '"') {
			return true
		}
	}
	return false
}

// tag reads a tag pair after its [.
func (s *scanner) tag() {
	line := s.line
	var name, value strings.Builder
	inValue, closed := false, false
	for {
		c, ok := s.read()
		if !ok || c == '\n' {
			s.fail(line, "tag is not closed on its line")
			return
		}
		switch {
		case inValue && c == '\\':
			if c, ok = s.read(); !ok || c == '\n' {
				s.fail(line, "tag is not closed on its line")
				return
			}
			value.WriteByte(c)
		case inValue && c == '"':
			inValue, closed = false, true
		case inValue:
			value.WriteByte(c)
		case c == '"' && !closed:
			inValue = true
		case c == ']':
			s.addTag(line, name.String(), value.String(), closed)
			return
		case c == ' ' || c == '\t' || c == '\r':
		case closed:
			s.fail(line, "text after a tag's value")
			s.upTo('\n', false)
			return
		default:
			name.WriteByte(c)
		}
		if value.Len() > maxTagValue || name.Len() > 255 {
			s.fail(line, "tag is too long")
			s.upTo('\n', false)
			return
		}
	}
}

func (s *scanner) addTag(line int, name, value string, closed bool) {
	switch {
	case name == "" || !closed:
		s.fail(line, "tag without a name or a quoted value")
	case len(s.game.tags) == maxTags:
		s.fail(line, "too many tags")
	default:
		s.game.tags = append(s.game.tags, [2]string{name, value})
	}
}

// nextGameAhead reports whether an [Event tag starts the line: inside a comment
// or variation that means it was never closed.
func (s *scanner) nextGameAhead() bool {
	b, _ := s.r.Peek(8)
	return string(b) == `[Event "`
}

// comment reads to the closing brace; braces do not nest. False where the game ends
// inside.
func (s *scanner) comment(wanted bool) bool {
	line := s.line
	closed := s.upTo('}', wanted)
	if !closed {
		s.fail(line, "comment is not closed")
	}
	return closed
}

// attach puts the comment that was just read behind the latest move. One before
// the first move belongs to none and is left out.
func (s *scanner) attach() {
	g := s.game
	if !s.keep || g == nil || len(g.words) == 0 {
		return
	}
	text := strings.Join(strings.Fields(string(s.text)), " ")
	if text == "" {
		return
	}
	if g.commentSize += len(text) + 1; g.commentSize > maxComments {
		s.fail(s.line, fmt.Sprintf("more than %d MiB of comments", maxComments>>20))
		return
	}
	for len(g.comments) < len(g.words) {
		g.comments = append(g.comments, "")
	}
	last := &g.comments[len(g.words)-1]
	if *last != "" {
		*last += " "
	}
	*last += text
}

// variation skips to the matching parenthesis. False where the game ends inside.
func (s *scanner) variation() bool {
	line := s.line
	for depth := 1; depth > 0; {
		c, ok := s.read()
		if !ok || c == '\n' && s.nextGameAhead() {
			s.fail(line, "variation is not closed")
			return false
		}
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ';':
			s.upTo('\n', false)
		case '{':
			if !s.comment(false) {
				return false
			}
		}
	}
	return true
}

// symbol reads a move, move number or result. True when it ends the game.
func (s *scanner) symbol() bool {
	line := s.line
	var text []byte
	number := true // digits only so far
	for {
		c, ok := s.read()
		if !ok {
			break
		}
		if strings.IndexByte(" \t\r\n\v\f{}()[]<>;$*", c) >= 0 || c == '.' && number {
			if c != '\n' {
				s.unread(c)
			}
			break
		}
		number = number && c >= '0' && c <= '9'
		if text = append(text, c); len(text) > maxWord {
			s.fail(line, "word is too long")
			text = text[:0]
		}
	}
	w := string(text)
	switch {
	case isResult(w):
		s.game.result = w
		return true
	case number || w == "e.p.":
	case strings.Trim(w, "!?+-=/~#") == "" && w != "--":
		// An evaluation such as += standing alone.
	case len(s.game.words) == maxMoves:
		s.fail(line, "more moves than any game can have")
	default:
		s.game.words = append(s.game.words, word{w, line})
	}
	return false
}
