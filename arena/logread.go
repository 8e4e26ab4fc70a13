package arena

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

const (
	maxLogLine   = 1 << 20 // bytes; a game of 10 000 plies has 50 000
	maxLogNumber = 1 << 24 // of a game
)

// ReadLog returns the header and the games, by number, of a match's log, which
// may be at work: a last line without its end is left out. An empty log is a
// *CorruptError.
func ReadLog(fsys fsx.FS, path string) (LogHeader, []Game, error) {
	text, err := readLog(fsys, path)
	if err == nil && text.header == nil {
		err = &CorruptError{path, 1, "there is no header"}
	}
	if err != nil {
		return LogHeader{}, nil, err
	}
	return *text.header, text.games, nil
}

// logText is what a log holds.
type logText struct {
	header *LogHeader // nil = not written yet
	games  []Game     // by number
	whole  int64      // bytes of the whole lines
}

func readLog(fsys fsx.FS, path string) (*logText, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("match log: %w", err)
	}
	defer f.Close()
	return parseLog(f, path)
}

// parseLog reads the whole lines of a log. path stands in errors.
func parseLog(r io.Reader, path string) (*logText, error) {
	text, seen, in := &logText{}, map[int]bool{}, bufio.NewReaderSize(r, maxLogLine)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF): // nothing, or a torn line
			slices.SortFunc(text.games, func(a, b Game) int { return cmp.Compare(a.Number, b.Number) })
			return text, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, &CorruptError{path, number, "a line of more than a megabyte"}
		case err != nil:
			return nil, fmt.Errorf("match log %s: %w", path, err)
		}
		text.whole += int64(len(line))
		if err := text.take(line, seen); err != nil {
			return nil, &CorruptError{path, number, err.Error()}
		}
	}
}

// take reads one whole line.
func (t *logText) take(line []byte, seen map[int]bool) error {
	if t.header == nil {
		h := new(LogHeader)
		if err := decodeLine(line, h); err != nil {
			return fmt.Errorf("header: %w", err)
		}
		if h.Version != logVersion {
			return fmt.Errorf("version %d, this program reads %d", h.Version, logVersion)
		}
		t.header = h
		return nil
	}
	var l logGame
	if err := decodeLine(line, &l); err != nil {
		return err
	}
	g, err := l.decode()
	if err != nil {
		return err
	}
	if seen[g.Number] {
		return fmt.Errorf("game %d is there twice", g.Number)
	}
	seen[g.Number] = true
	t.games = append(t.games, g)
	return nil
}

func decodeLine(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one object")
	}
	return nil
}

// logGame is the line of a game.
type logGame struct {
	Game         int    `json:"game"`            // number, from 0
	White        int    `json:"white"`           // player that has white, 0 or 1
	Start        string `json:"start,omitempty"` // FEN; "" = the normal start position
	Moves        string `json:"moves"`           // UCI, castling as king takes rook
	OpeningPlies int    `json:"opening_plies"`
	WhiteResult  int8   `json:"white_result"`
	End          End    `json:"end"`
	Note         string `json:"note,omitempty"`
}

func encodeGame(g *Game) *logGame {
	l := &logGame{Game: g.Number, White: g.White, OpeningPlies: g.OpeningPlies, WhiteResult: g.WhiteResult, End: g.End, Note: g.Note}
	if g.Start != chess.StartBoard() {
		l.Start = g.Start.FEN()
	}
	l.Moves = strings.Join(moveTexts(g.Start, g.Moves), " ")
	return l
}

// EncodeGames returns games as JSON: the lines of a log.
func EncodeGames(games []Game) ([]byte, error) {
	lines := make([]*logGame, len(games))
	for i := range games {
		lines[i] = encodeGame(&games[i])
	}
	return json.Marshal(lines)
}

// DecodeGames reads what EncodeGames wrote, and plays the moves by the rules.
func DecodeGames(data []byte) ([]Game, error) {
	var lines []logGame
	if err := decodeLine(data, &lines); err != nil {
		return nil, err
	}
	games := make([]Game, len(lines))
	for i := range lines {
		var err error
		if games[i], err = lines[i].decode(); err != nil {
			return nil, err
		}
	}
	return games, nil
}

// moveTexts returns moves that are played from b in the notation of a log.
func moveTexts(b chess.Board, moves []chess.Move) (texts []string) {
	for _, m := range moves {
		texts = append(texts, b.UCI(m, true))
		b.Make(m)
	}
	return texts
}

// decode plays the moves and checks everything.
func (l *logGame) decode() (Game, error) {
	g := Game{Number: l.Game, White: l.White, Start: chess.StartBoard(), OpeningPlies: l.OpeningPlies, WhiteResult: l.WhiteResult, End: l.End, Note: l.Note}
	if l.Game < 0 || l.Game > maxLogNumber || l.White < 0 || l.White > 1 || l.WhiteResult < -1 || l.WhiteResult > 1 || l.End == "" {
		return g, fmt.Errorf("game %d with white %d, white_result %d, end %q: out of range", l.Game, l.White, l.WhiteResult, l.End)
	}
	if l.Start != "" {
		var err error
		if g.Start, err = chess.ParseFEN(l.Start); err != nil {
			return g, fmt.Errorf("game %d: %w", l.Game, err)
		}
	}
	b := g.Start
	for text := range strings.FieldsSeq(l.Moves) {
		m, err := b.ParseUCI(text)
		if err != nil {
			return g, fmt.Errorf("game %d, ply %d: %w", l.Game, len(g.Moves)+1, err)
		}
		g.Moves = append(g.Moves, m)
		b.Make(m)
	}
	if l.OpeningPlies < 0 || l.OpeningPlies > len(g.Moves) {
		return g, fmt.Errorf("game %d: %d plies of opening in a game of %d", l.Game, l.OpeningPlies, len(g.Moves))
	}
	return g, nil
}

// HashOpenings returns the SHA-256 of openings, hexadecimal: of their start
// positions and moves, in their order.
func HashOpenings(openings []Opening) string {
	h := sha256.New()
	for _, o := range openings {
		fmt.Fprintln(h, strings.Join(append([]string{o.Board.ShredderFEN()}, moveTexts(o.Board, o.Moves)...), " "))
	}
	return hex.EncodeToString(h.Sum(nil))
}
