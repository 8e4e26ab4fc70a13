package pgn

import (
	"fmt"
	"slices"
	"strings"

	notnil "github.com/notnil/chess"

	"github.com/chessbrain/chessbrain/chess"
)

// decode turns words into a game, with package chess alone where ownRules says
// so. Any panic of the library below stays one bad game.
func decode(raw *rawGame, ownRules bool) (*Game, *GameError) {
	if raw.bad != nil {
		return nil, raw.bad
	}
	g := &Game{Tags: raw.tags, Start: chess.StartBoard(), Result: raw.result, Index: raw.index, Line: raw.line}
	fail := func(line int, reason string) (*Game, *GameError) {
		return nil, &GameError{Index: raw.index, Line: line, Reason: reason}
	}
	if v := g.Tag("Variant"); !knownVariant(v) {
		return fail(raw.line, fmt.Sprintf("variant %q is not known", v))
	}
	if fen := g.Tag("FEN"); fen != "" {
		b, err := chess.ParseFEN(fen)
		if err != nil {
			return fail(raw.line, err.Error())
		}
		g.Start = b
	}
	if g.Result == "" {
		g.Result = "*"
		if r := g.Tag("Result"); isResult(r) {
			g.Result = r
		}
	}
	if raw.comments != nil {
		g.Comments = append(raw.comments, make([]string, len(raw.words)-len(raw.comments))...)
	}
	if !ownRules && !g.Start.Castles960() {
		if moves, ok := decodeStandard(&g.Start, raw.words); ok {
			g.Moves = moves
			return g, nil
		}
	}
	b := g.Start
	g.Moves = make([]chess.Move, 0, len(raw.words))
	for i, w := range raw.words {
		m, err := b.ParseSAN(w.text)
		if err != nil {
			return fail(w.line, fmt.Sprintf("ply %d: %v", i+1, err))
		}
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	return g, nil
}

// knownVariant accepts the names that programs give to standard chess and Chess960.
func knownVariant(v string) bool {
	return slices.Contains([]string{"", "standard", "normal", "chess", "fromposition", "chess960", "960",
		"fischerandom", "fischerrandom", "fischerrandomchess", "freestyle", "freestylechess"},
		strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(v)))
}

// decodeStandard has notnil/chess decode the moves from a clean text and checks
// its answer move by move. False where the library fails, skips a word or
// disagrees with package chess; the caller then reads the words itself.
func decodeStandard(start *chess.Board, words []word) (moves []chess.Move, ok bool) {
	defer func() {
		if recover() != nil {
			moves, ok = nil, false
		}
	}()
	load, err := notnil.PGN(strings.NewReader(cleanText(start, words)))
	if err != nil {
		return nil, false
	}
	read := notnil.NewGame(load).Moves()
	if len(read) != len(words) {
		return nil, false
	}
	b := *start
	moves = make([]chess.Move, 0, len(read))
	for _, r := range read {
		m, err := b.ParseUCI(r.String())
		if err != nil {
			return nil, false
		}
		moves = append(moves, m)
		b.Make(m)
	}
	return moves, true
}

// cleanText writes the words so that notnil/chess cannot misread them: one FEN
// tag, one move a line, no numbers, comments or annotation marks.
func cleanText(start *chess.Board, words []word) string {
	var sb strings.Builder
	if *start != chess.StartBoard() {
		fmt.Fprintf(&sb, "[FEN \"%s\"]\n\n", start.FEN())
	}
	for _, w := range words {
		text := strings.TrimRight(w.text, "!?")
		if strings.HasPrefix(text, "0-0") {
			text = strings.ReplaceAll(text, "0", "O")
		}
		sb.WriteString(text)
		sb.WriteByte('\n')
	}
	sb.WriteString("*\n")
	return sb.String()
}
