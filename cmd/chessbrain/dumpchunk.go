package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

func newDumpChunk() *cobra.Command {
	var member int
	var asJSON bool
	c := &cobra.Command{
		Use:   "dump-chunk FILE",
		Short: "Show every field of every record of a Leela training chunk",
		Long: `Shows every field of every record of a chunk (*.gz, a member of a *.tar, or bare
records; versions 3 to 7) under Leela's names. Moves of the policy are seen by the
mover, castling is king takes rook; planes are masks, bit i = square i, a1 = 0.
What a version does not hold is "-" (null with --json). Where the records are a
game, each has its position and move too.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: name one file", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			src, err := lc0.OpenSource(args[0])
			if err != nil {
				return chunkFileError(err)
			}
			if member < 0 || member >= src.Len() {
				return usagef("--member %d: %s has %d chunks, counted from 0", member, args[0], src.Len())
			}
			raw, err := src.Chunk(member)
			if err != nil {
				return chunkFileError(err)
			}
			records, damage := lc0.DecodeRecords(raw)
			frames, noGame := chunks.Frames(records)
			if damage == nil {
				damage = noGame
			}
			if !asJSON {
				fmt.Fprintf(c.OutOrStdout(), "chunk %d of %d: %s, %d records\n", member, src.Len(), src.Name(member), len(records))
			}
			for i := range frames {
				if err := answer(c, asJSON, &frames[i]); err != nil {
					return err
				}
			}
			if damage != nil {
				return corruptf("%s: %w", args[0], damage)
			}
			return nil
		},
	}
	c.Flags().IntVar(&member, "member", 0, "which chunk of a tar, counted from 0")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a record")
	return c
}

// chunkFileError sorts an error about a file of chunks: damage, or a wrong path.
func chunkFileError(err error) error {
	for _, target := range []error{lc0.ErrCorruptRecord, lc0.ErrNoGame, lc0.ErrNoSource} {
		if errors.Is(err, target) {
			return corrupt(err)
		}
	}
	return pathError(err)
}
