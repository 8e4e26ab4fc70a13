package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// noLog is the --log of a match that keeps none.
const noLog = "none"

// matchLog is the log of a match, from which the same command goes on.
type matchLog struct {
	path  string     // "" = none
	given bool       // by --log: it stays; one beside --pgn ends with the match
	log   *arena.Log // nil = none
	games []arena.Game
}

// newMatchLog settles where the log is: where --log says, else beside --pgn.
func newMatchLog(flag, pgn string) *matchLog {
	switch {
	case flag == noLog || flag == "" && pgn == "":
		return &matchLog{}
	case flag != "":
		return &matchLog{path: flag, given: true}
	}
	return &matchLog{path: strings.TrimSuffix(pgn, filepath.Ext(pgn)) + ".jsonl"}
}

// open opens the log and says what it holds.
func (l *matchLog) open(h arena.LogHeader, out io.Writer) error {
	if l.path == "" {
		return nil
	}
	h.Program, h.Began = "chessbrain "+version(), time.Now().UTC().Truncate(time.Second)
	var err error
	l.log, l.games, err = arena.OpenLog(fsx.OS, l.path, h)
	if as[*arena.OtherMatchError](err) {
		return usageError{err}
	}
	if err != nil {
		return pathError(fmt.Errorf("--log: %w", err))
	}
	if n := len(l.games); n > 0 {
		fmt.Fprintf(out, "chessbrain: %s has %s of this match: going on with the others\n", l.path, monitor.Count(n, "game"))
	}
	return nil
}

// close closes the log. After a match that came to its end, one that --log did
// not ask for is removed: all that it holds is in the PGN.
func (l *matchLog) close(ended bool) error {
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

// header describes the match.
func (o *matchOptions) header(report *matchReport, openings string) arena.LogHeader {
	h := arena.LogHeader{Seed: o.seed, Openings: openings, MaxPlies: o.maxPlies, Rules: o.rules.String()}
	for i, p := range report.Players {
		h.Players[i] = arena.LogPlayer{Name: p.Name, NetID: p.NetID, SHA256: p.programSHA256, Settings: p.settings(report.Precision)}
	}
	return h
}
