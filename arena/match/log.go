package match

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// NoLog is the Options.Log of a match that keeps none.
const NoLog = "none"

// logPath says where the log is: where --log says, else beside --pgn; "" = nowhere.
func (o *Options) logPath() string {
	switch {
	case o.Log == NoLog || o.Log == "" && (o.PGN == "" || fsx.Special(o.PGN)):
		return ""
	case o.Log != "":
		return o.Log
	}
	return strings.TrimSuffix(o.PGN, filepath.Ext(o.PGN)) + ".jsonl"
}

// OpenLog opens the log, from which the same command goes on, and says what it holds of
// this match, which ReadOpenings has completed. Another match that writes the same files is
// a *fsx.LockedError.
func (m *Match) OpenLog() error {
	path, h := m.options.logPath(), m.header()
	for _, file := range []string{m.options.PGN, path} {
		if err := m.hold(file); err != nil {
			return err
		}
	}
	if path == "" {
		return nil
	}
	h.Program, h.Began = m.options.Program, time.Now().UTC().Truncate(time.Second)
	var err error
	m.config.Log, m.config.Done, err = arena.OpenLog(fsx.OS, path, h)
	if _, other := errors.AsType[*arena.OtherMatchError](err); other {
		return askedError{err}
	}
	if err != nil {
		return fmt.Errorf("--log: %w", err)
	}
	if n := len(m.config.Done); n > 0 {
		m.options.Tell("%s has %s of this match: going on with the others", path, games(n))
	}
	return nil
}

// hold keeps other matches from a file that this one writes, until Close. They may name it by a link.
func (m *Match) hold(path string) error {
	if path == "" || fsx.Special(path) {
		return nil
	}
	lock, err := fsx.Acquire(fsx.RealPath(path)+".lock", fsx.LockOptions{Command: "chessbrain match"})
	if _, held := errors.AsType[*fsx.LockedError](err); held {
		return fmt.Errorf("another match writes %s, wait for its end or name another file: %w", path, err)
	}
	if err == nil {
		m.locks = append(m.locks, lock)
	}
	return err
}

// closeLog closes the log. After a match that came to its end, one that --log did
// not ask for is removed: all that it holds is in the PGN.
func (m *Match) closeLog(ended bool) error {
	if m.config.Log == nil {
		return nil
	}
	err := m.config.Log.Close()
	if ended && m.options.Log == "" {
		err = errors.Join(err, fsx.OS.Remove(m.options.logPath()))
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
