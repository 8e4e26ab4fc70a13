package arena

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

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
