package arena

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// logVersion is the version of the lines of a log.
const logVersion = 1

// LogPlayer says who plays a match, so that another match is not taken for it.
type LogPlayer struct {
	Name     string `json:"name"`
	NetID    string `json:"net_id,omitempty"`
	SHA256   string `json:"sha256,omitempty"`   // of the net's file, hexadecimal
	Settings string `json:"settings,omitempty"` // of the search, limits, an engine's options
}

// LogHeader is the first line of a log. Program and Began may differ when the
// match is gone on with; the log keeps those of its beginning.
type LogHeader struct {
	Version  int          `json:"version"` // 0 = this version
	Players  [2]LogPlayer `json:"players"`
	Seed     uint64       `json:"seed"`
	Openings string       `json:"openings"` // HashOpenings, or what else says which they are
	MaxPlies int          `json:"max_plies"`
	Rules    string       `json:"rules,omitempty"` // adjudication, if any
	Program  string       `json:"program,omitempty"`
	Began    time.Time    `json:"began"`
}

// OtherMatchError says that a log holds another match than the one to be played.
type OtherMatchError struct {
	Path        string
	Differences []string // "seed: 1 in the log, 2 now"
}

// Error implements error.
func (e *OtherMatchError) Error() string {
	return fmt.Sprintf("%s is the log of another match (%s): remove it, or name another log", e.Path, strings.Join(e.Differences, "; "))
}

// CorruptError says that a log cannot be read.
type CorruptError struct {
	Path   string
	Line   int // from 1
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s, line %d: %s; put the file back from a copy, or remove it and play the match again", e.Path, e.Line, e.Reason)
}

// Log is the append-only file of a match: its header and a JSON object for each
// finished game, in the order in which they finished. One process at a time may
// have a log open; its methods are called by one goroutine at a time.
type Log struct {
	file  *fsx.AppendFile
	Began time.Time // the match, which an earlier process may have begun
}

// OpenLog opens or makes the log of a match and returns the games in it, by
// number. A last line that a kill left torn is cut off. A log of games with
// another header is an *OtherMatchError, one that is damaged before its last line
// a *CorruptError.
func OpenLog(fsys fsx.FS, path string, h LogHeader) (*Log, []Game, error) {
	h.Version = cmp.Or(h.Version, logVersion)
	file, err := fsx.OpenAppend(fsys, path)
	if err != nil {
		return nil, nil, fmt.Errorf("match log: %w", err)
	}
	l := &Log{file, h.Began}
	games, err := l.begin(fsys, &h)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return l, games, nil
}

// begin reads what is there and writes the header where nothing is.
func (l *Log) begin(fsys fsx.FS, h *LogHeader) ([]Game, error) {
	text, err := readLog(fsys, l.file.Path())
	if err != nil {
		return nil, err
	}
	if text.header != nil {
		if d := text.header.differences(h); len(d) > 0 {
			if len(text.games) > 0 {
				return nil, &OtherMatchError{l.file.Path(), d}
			}
			text = &logText{} // of a match that never began
		}
	}
	if text.whole < l.file.Size() {
		if err := l.file.Truncate(text.whole); err != nil {
			return nil, fmt.Errorf("match log: %w", err)
		}
	}
	if text.header == nil {
		return nil, l.append(h)
	}
	l.Began = text.header.Began
	return text.games, nil
}

// differences lists what makes h, of a log, the header of another match.
func (h *LogHeader) differences(now *LogHeader) []string {
	var out []string
	compare := func(name string, was, is any) {
		if was != is {
			out = append(out, fmt.Sprintf("%s: %v in the log, %v now", name, shown(was), shown(is)))
		}
	}
	compare("version", h.Version, now.Version)
	for i := range h.Players {
		was, is := h.Players[i], now.Players[i]
		player := fmt.Sprintf("player %d ", i+1)
		compare(player+"name", was.Name, is.Name)
		compare(player+"net", was.NetID, is.NetID)
		compare(player+"SHA-256", was.SHA256, is.SHA256)
		compare(player+"settings", was.Settings, is.Settings)
	}
	compare("seed", h.Seed, now.Seed)
	compare("openings", h.Openings, now.Openings)
	compare("max plies", h.MaxPlies, now.MaxPlies)
	compare("rules", h.Rules, now.Rules)
	return out
}

// shown makes an empty text visible.
func shown(v any) any {
	if v == "" {
		return "none"
	}
	return v
}

// Add appends a finished game; nil means that it is on stable storage.
func (l *Log) Add(g *Game) error { return l.append(encodeGame(g)) }

func (l *Log) append(v any) error {
	if err := l.file.AddLine(v); err != nil {
		return fmt.Errorf("match log: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// OpenLog opens the log of the match, which takes the games in it as done. That of
// another match (another net, other settings), or one that cannot be read, has its files
// put aside first.
func (c *Config) OpenLog(h LogHeader, path string, putAside func(*OtherMatchError) error) (err error) {
	h.Seed, h.MaxPlies, h.Began = c.Seed, c.MaxPlies, time.Now().UTC()
	c.Log, c.Done, err = OpenLog(fsx.OS, path, h)
	other, ok := errors.AsType[*OtherMatchError](err)
	if corrupt, damaged := errors.AsType[*CorruptError](err); damaged {
		other, ok = &OtherMatchError{path, []string{corrupt.Error()}}, true
	}
	if ok {
		if err := putAside(other); err != nil {
			return err
		}
		c.Log, c.Done, err = OpenLog(fsx.OS, path, h)
	}
	return err
}

// PlayLogged plays a match to its end, closes its log, and writes its games to the
// file pgn. Where ctx ended first its error is returned: the games are in the log.
func PlayLogged(ctx context.Context, cfg Config, pgn string) (*Result, error) {
	r, err := Play(ctx, cfg)
	if err = errors.Join(err, cfg.Log.Close()); errors.Is(err, ErrStopped) && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = fsx.WriteFileFunc(fsx.OS, pgn, r.WritePGN)
	}
	if err != nil {
		return nil, fmt.Errorf("match of %s against %s: %w", cfg.Players[0].Name(), cfg.Players[1].Name(), err)
	}
	return r, nil
}

// PutAside renames the files of a match that is not the one to be played, in the order
// of their names: match.jsonl becomes match.1.jsonl, and so on.
func PutAside(dir string, names ...string) error {
	numbered := func(name string, n int) string {
		ext := filepath.Ext(name)
		return filepath.Join(dir, fmt.Sprintf("%s.%d%s", name[:len(name)-len(ext)], n, ext))
	}
	for n := 1; ; n++ {
		free := true
		for _, name := range names {
			there, err := fsx.Exists(numbered(name, n))
			if err != nil {
				return fmt.Errorf("put an earlier match aside: %w", err)
			}
			free = free && !there
		}
		if !free {
			continue
		}
		for _, name := range names {
			err := fsx.OS.Rename(filepath.Join(dir, name), numbered(name, n))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("put an earlier match aside: %w", err)
			}
		}
		return fsx.SyncDir(fsx.OS, dir)
	}
}

// MatchSeed returns a match's own seed, so that other players have other openings: a
// hash of its purpose, the run's seed and what tells the players apart.
func MatchSeed(purpose string, seed uint64, players ...string) uint64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64([]byte(purpose+"\x00"), seed))
	for _, p := range players {
		io.WriteString(h, p+"\x00")
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
