package match

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// NoLog is the Options.Log of a match that keeps none.
const NoLog = "none"

// gameLog is the log of a match, from which the same command goes on.
type gameLog struct {
	path  string     // "" = none
	given bool       // by --log: it stays; one beside --pgn ends with the match
	log   *arena.Log // nil = none
	games []arena.Game
}

// newLog settles where the log is: where --log says, else beside --pgn.
func newLog(flag, pgn string) *gameLog {
	switch {
	case flag == NoLog || flag == "" && pgn == "":
		return &gameLog{}
	case flag != "":
		return &gameLog{path: flag, given: true}
	}
	return &gameLog{path: strings.TrimSuffix(pgn, filepath.Ext(pgn)) + ".jsonl"}
}

// open opens the log and says what it holds.
func (l *gameLog) open(h arena.LogHeader, program string, tell func(string, ...any)) error {
	if l.path == "" {
		return nil
	}
	h.Program, h.Began = program, time.Now().UTC().Truncate(time.Second)
	var err error
	l.log, l.games, err = arena.OpenLog(fsx.OS, l.path, h)
	if _, other := errors.AsType[*arena.OtherMatchError](err); other {
		return askedError{err}
	}
	if err != nil {
		return fmt.Errorf("--log: %w", err)
	}
	if n := len(l.games); n > 0 {
		tell("%s has %s of this match: going on with the others", l.path, games(n))
	}
	return nil
}

// close closes the log. After a match that came to its end, one that --log did
// not ask for is removed: all that it holds is in the PGN.
func (l *gameLog) close(ended bool) error {
	if l.log == nil {
		return nil
	}
	err := l.log.Close()
	l.log = nil
	if ended && !l.given {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// games counts games in words.
func games(n int) string {
	if n == 1 {
		return "1 game"
	}
	return fmt.Sprintf("%d games", n)
}

// header describes the match.
func (m *Match) header() arena.LogHeader {
	o := m.options
	h := arena.LogHeader{Seed: o.Seed, Openings: m.openings, MaxPlies: o.MaxPlies, Rules: o.Rules.String()}
	for i, p := range m.report.Players {
		h.Players[i] = arena.LogPlayer{Name: p.Name, NetID: p.NetID, SHA256: p.programSHA256, Settings: p.settings(o.Precision)}
	}
	return h
}
