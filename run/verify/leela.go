package verify

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/lc0"
)

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
	for _, bad := range source.Bad() {
		c.report.add(Problem{Path: path, Offset: bad.Offset, Kind: Corrupt, Reason: fmt.Sprintf("member %q: %v", bad.Name, bad.Err), Remedy: damagedChunk})
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
