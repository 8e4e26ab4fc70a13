package play

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
)

// OnDisk returns how many games of a process are on disk, without branches, and when its
// newest file was written.
func OnDisk(ctx context.Context, dir run.Dir, process string) (games int64, last time.Time, err error) {
	nets, err := fsx.Dirs(fsx.OS, dir.Selfplay())
	newest := ""
	for _, net := range nets {
		_, broken := replay.WalkGames(ctx, fsx.OS, dir.GamesOf(net, process), func(path string, g *record.Game) error {
			if _, _, _, branch := selfplay.BranchOrdinal(g.Ordinal); !branch {
				games++
			}
			if path == newest {
				return nil
			}
			newest = path
			if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
			return nil
		})
		err = errors.Join(err, broken)
	}
	return games, last, err
}

// maxUnfinished bounds the length of one game in the file: what a torn or
// foreign file says is not believed.
const maxUnfinished = 1 << 24

// saveUnfinished replaces the file by the given games; each is a length and its
// bytes. Without games the file goes.
func saveUnfinished(path string, games []selfplay.Unfinished) error {
	if len(games) == 0 {
		if err := fsx.OS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove finished games from %s: %w", path, err)
		}
		return nil
	}
	var data []byte
	for i := range games {
		one, err := games[i].MarshalBinary()
		if err != nil {
			return fmt.Errorf("save unfinished game: %w", err)
		}
		data = binary.AppendUvarint(data, uint64(len(one)))
		data = append(data, one...)
	}
	if err := fsx.PutFile(fsx.OS, path, data); err != nil {
		return fmt.Errorf("save unfinished games (they will be played again): %w", err)
	}
	return nil
}

// ReadUnfinished reads the games of a file of unfinished ones; a missing file has none.
// An error says where the first unreadable one stands; those before it are returned.
func ReadUnfinished(path string) ([]selfplay.Unfinished, error) {
	data, err := fsx.ReadFile(fsx.OS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read unfinished games: %w", err)
	}
	var games []selfplay.Unfinished
	for at := 0; at < len(data); {
		size, n := binary.Uvarint(data[at:])
		if n <= 0 || size > maxUnfinished || size > uint64(len(data)-at-n) {
			return games, fmt.Errorf("unfinished games in %s: byte %d: no game of %d bytes follows", path, at, size)
		}
		end := at + n + int(size)
		var g selfplay.Unfinished
		if err := g.UnmarshalBinary(data[at+n : end]); err != nil {
			return games, fmt.Errorf("unfinished games in %s: byte %d: %w", path, at, err)
		}
		games, at = append(games, g), end
	}
	return games, nil
}
