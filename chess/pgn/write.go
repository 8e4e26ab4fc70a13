package pgn

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
)

// roster are the seven tags that every game has, with their values for "unknown".
var roster = [6][2]string{
	{"Event", "?"}, {"Site", "?"}, {"Date", "????.??.??"}, {"Round", "?"}, {"White", "?"}, {"Black", "?"},
}

// lineWidth is the width that movetext is wrapped at: no line is longer than 79 characters
// (PGN standard, section 4.3).
const lineWidth = 79

// Write writes one game and an empty line after it: the seven-tag roster (absent
// tags as unknown), FEN, SetUp and, for Chess960 castling, Variant where the game
// does not begin at the start position, then the other tags of g in their order.
// Result, FEN and SetUp come from the game itself, whatever its tags say. Comments
// are wrapped at their blanks. An illegal move is an error, and so is a comment
// that PGN cannot hold; nothing is written then.
func Write(w io.Writer, g *Game) error {
	result := cmp.Or(g.Result, "*")
	if !isResult(result) {
		return fmt.Errorf("write PGN: result %q is none of 1-0, 0-1, 1/2-1/2, *", result)
	}
	var sb strings.Builder
	if err := writeTags(&sb, g, result); err != nil {
		return err
	}
	sb.WriteByte('\n')
	if err := writeMoves(&sb, g, result); err != nil {
		return err
	}
	sb.WriteString("\n")
	if _, err := io.WriteString(w, sb.String()); err != nil {
		return fmt.Errorf("write PGN: %w", err)
	}
	return nil
}

func writeTags(sb *strings.Builder, g *Game, result string) error {
	tag := func(name, value string) { fmt.Fprintf(sb, "[%s \"%s\"]\n", name, escapeTag(value)) }
	own := map[string]bool{"Result": true, "FEN": true, "SetUp": true}
	for _, t := range roster {
		own[t[0]] = true
		tag(t[0], cmp.Or(g.Tag(t[0]), t[1]))
	}
	tag("Result", result)
	if g.Start != chess.StartBoard() {
		if g.Start.Castles960() {
			own["Variant"] = true
			tag("Variant", "Chess960")
		}
		tag("SetUp", "1")
		tag("FEN", g.Start.FEN())
	}
	for _, t := range g.Tags {
		if own[t[0]] {
			continue
		}
		if !tagName(t[0]) || len(t[0]) > 255 {
			return fmt.Errorf("write PGN: tag name %q: want up to 255 letters, digits and _", t[0])
		}
		own[t[0]] = true
		tag(t[0], t[1])
	}
	return nil
}

var tagName = regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString

// escapeTag writes quotes and backslashes as PGN wants them; line breaks, which
// PGN cannot hold, become blanks.
var escapeTag = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r\n", " ", "\n", " ", "\r", " ").Replace

func writeMoves(sb *strings.Builder, g *Game, result string) error {
	column := 0
	put := func(s string) {
		switch {
		case column == 0:
		case column+1+len(s) > lineWidth:
			sb.WriteByte('\n')
			column = 0
		default:
			sb.WriteByte(' ')
			column++
		}
		sb.WriteString(s)
		column += len(s)
	}
	if len(g.Comments) != 0 && len(g.Comments) != len(g.Moves) {
		return fmt.Errorf("write PGN: %d comments beside %d moves", len(g.Comments), len(g.Moves))
	}
	b := g.Start
	var legal chess.MoveList
	var san []byte
	numbered := false // black's move needs its number: nothing or a comment stands before it
	for i, m := range g.Moves {
		b.GenerateMoves(&legal)
		if legal.Index(m) < 0 {
			return fmt.Errorf("write PGN: ply %d: %s is illegal in %s", i+1, b.UCI(m, true), b.FEN())
		}
		if b.SideToMove() == chess.White {
			put(fmt.Sprintf("%d.", b.FullMove()))
		} else if i == 0 || numbered {
			put(fmt.Sprintf("%d...", b.FullMove()))
		}
		san = b.AppendSAN(san[:0], m, &legal)
		put(string(san))
		b.Make(m)
		numbered = len(g.Comments) > 0 && g.Comments[i] != ""
		if !numbered {
			continue
		}
		words, err := commentWords(g.Comments[i])
		if err != nil {
			return fmt.Errorf("write PGN: ply %d: %w", i+1, err)
		}
		for _, w := range words {
			put(w)
		}
	}
	put(result)
	sb.WriteByte('\n')
	return nil
}

// commentWords returns a comment in braces, cut at its blanks. It refuses a brace
// that would close it, and a word that at the start of a line would hide that line
// (%) or look like the next game.
func commentWords(comment string) ([]string, error) {
	if strings.Contains(comment, "}") {
		return nil, fmt.Errorf("comment %q: a } would end it", comment)
	}
	words := strings.Fields("{" + comment + "}")
	for _, w := range words {
		if w[0] == '%' || strings.HasPrefix(w, "[Event") {
			return nil, fmt.Errorf("comment %q: the word %q is not safe at the start of a line", comment, w)
		}
	}
	return words, nil
}
