package verify

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/play"
)

const damagedGames = "its other blocks are read all the same; put the file back from a copy, or live without these games"

func (c *checker) chunk(path string) {
	games, info, err := replay.ReadChunk(fsx.OS, path)
	if err != nil {
		c.unreadable(path, err)
		return
	}
	c.report.Chunks++
	for _, d := range info.Damage {
		c.report.add(Problem{Path: path, Offset: d.Offset, Kind: Corrupt, Reason: fmt.Sprintf("%s (%d bytes)", d.Reason, d.Length), Remedy: damagedGames})
	}
	growing := strings.HasSuffix(path, replay.GrowingSuffix)
	switch {
	case growing && c.live: // somebody writes it
	case growing:
		c.report.problem(path, Torn, "the next start of the run that wrote it seals it; its whole blocks are read meanwhile",
			"a chunk that its writer left growing: %d whole games, %d bytes after them", info.Games, info.Lost)
	case info.Torn:
		c.report.add(Problem{Path: path, Offset: info.Bytes - info.Lost, Kind: Torn, Reason: "a sealed chunk without a footer", Remedy: damagedGames})
	}
	for i, g := range games {
		c.game(path, i+1, g)
	}
}

// game holds a decoded game, which is valid, against those before it, and
// rebuilds its rows.
func (c *checker) game(path string, number int, g *record.Game) {
	here := location{path, number, movesHash(g)}
	if first, ok := c.games[g.ID]; ok {
		kind, what := Duplicate, "is there twice"
		if first.moves != here.moves {
			kind, what = Contradiction, "has the id of another game"
		}
		c.report.problem(path, kind, "readers count the first only; remove the file that is too much",
			"game %x, number %d of the file, %s: see number %d of %s", g.ID, number, what, first.number, first.path)
		return
	}
	c.games[g.ID] = here
	c.report.Games++
	c.report.Positions += int64(len(g.Plies))
	if err := c.rebuild(g); err != nil {
		c.report.problem(path, Corrupt, damagedGames, "game %x, number %d of the file: %v", g.ID, number, err)
	}
}

// rebuild makes all rows of a game that are meant for training.
func (c *checker) rebuild(g *record.Game) error {
	c.plies = c.plies[:0]
	for i := range g.Plies {
		if g.Plies[i].Trained() {
			c.plies = append(c.plies, i)
		}
	}
	c.rows.Reset()
	if err := c.replay.AppendRows(c.rows, g, c.plies); err != nil {
		return err
	}
	c.report.Rows += int64(len(c.plies))
	for i := range c.rows.N {
		sum := 0.0
		for _, p := range c.rows.PolicyOf(i) {
			sum += float64(p)
		}
		if !(math.Abs(sum-1) < 2e-3) { // record allows 1e-3, rounding included
			return fmt.Errorf("ply %d: the row's policy sums to %v", c.plies[i], sum)
		}
	}
	return nil
}

// movesHash tells games of one id apart: a hash of moves and result.
func movesHash(g *record.Game) uint64 {
	h := fnv.New64a()
	for i := range g.Plies {
		m := g.Plies[i].Move
		h.Write([]byte{byte(m), byte(m >> 8)})
	}
	h.Write(append([]byte{byte(g.End), byte(g.WhiteResult)}, g.Start...))
	return h.Sum64()
}

// references tells of games that something refers to and that are not there.
func (c *checker) references() {
	for _, r := range c.wanted {
		missing := slices.DeleteFunc(slices.Clone(r.ids), func(id [16]byte) bool {
			_, there := c.games[id]
			return there
		})
		if len(missing) > 0 {
			c.report.problem(r.path, Missing, "put their chunk files back from a copy; a run goes on without them",
				"%d of the %d games of %s are not on disk (first %x)", len(missing), len(r.ids), r.what, missing[0])
		}
	}
}

// unfinished verifies a file of games that a stopped process goes on with.
func (c *checker) unfinished(path string) {
	games, err := play.ReadUnfinished(path)
	c.report.Unfinished += len(games)
	if err != nil {
		c.report.problem(path, Corrupt, "remove it; these games are played again", "%v", err)
	}
}

const damagedChunk = "leave it out; the other chunks of a tar are not touched"

// leela verifies a file of Leela's chunks, one or a tar of them: each is
// inflated, its records are read, and become a game whose moves are legal.
func (c *checker) leela(path string) {
	source, err := lc0.OpenSource(path)
	switch {
	case errors.Is(err, lc0.ErrNoSource):
		c.report.Others++
		c.report.note("%s: %v", path, err)
		return
	case err != nil:
		c.unreadable(path, err)
		return
	}
	for _, bad := range source.Bad {
		c.report.add(Problem{Path: path, Offset: bad.Offset, Kind: Corrupt, Reason: fmt.Sprintf("member \"%s\": %v", bad.Name, bad.Err), Remedy: damagedChunk})
	}
	for i := range source.Len() {
		if c.ctx.Err() != nil {
			return
		}
		c.report.LeelaChunks++
		if err := c.leelaChunk(source, i); err != nil {
			c.report.problem(path, Corrupt, damagedChunk, "chunk %s: %v", source.Name(i), err)
		}
	}
}

// leelaChunk reads one chunk and counts its records.
func (c *checker) leelaChunk(source *lc0.Source, i int) error {
	raw, err := source.Chunk(i)
	if err != nil {
		return err
	}
	records, err := lc0.DecodeRecords(raw)
	c.report.Records += int64(len(records))
	if err != nil {
		return err
	}
	g, err := lc0.Game(records)
	if err != nil {
		return err
	}
	return c.rebuild(g)
}
