package shuffle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// First phase: each row of the window is kept or not, and goes to a bucket
// drawn evenly. Both are drawn by a generator seeded with the shuffle's seed and
// the game's id, so the result depends neither on threads nor on which file
// holds a game.

// Streams of the shuffle's seed.
const (
	streamSpread  = "chessbrain shuffle spread\x00"
	streamPermute = "chessbrain shuffle permute\x00"
	streamPass    = "chessbrain shuffle pass\x00"
)

// newRand returns the generator of one user of the seed.
func newRand(stream string, seed uint64, id []byte) *rand.Rand {
	sum := sha256.Sum256(append(le.AppendUint64([]byte(stream), seed), id...))
	return rand.New(rand.NewPCG(le.Uint64(sum[:]), le.Uint64(sum[8:])))
}

// bucket is what the first phase wrote for one bucket.
type bucket struct {
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	CRC   uint32 `json:"crc32c"`
}

// spread is the first phase's result; its file says that the phase is complete.
type spread struct {
	Buckets []bucket `json:"buckets"`
}

// spreadRows are the packed rows of one game file with their buckets.
type spreadRows struct {
	data []byte   // uvarint length and row, one after the other
	ends []int    // of each in data
	to   []uint32 // bucket of each
}

// spreader runs the first phase.
type spreader struct {
	o       *Options
	p       *Plan
	scratch string
	buffers [][]byte
	done    []bucket
}

func bucketPath(scratch string, k int) string {
	return filepath.Join(scratch, fmt.Sprintf("bucket%07d", k))
}

// spreadInputs fills the buckets in scratch, synced, and returns what they hold.
// Files are read by several goroutines and their rows appended in the order of
// the plan.
func (o *Options) spreadInputs(ctx context.Context, p *Plan, scratch string) (*spread, error) {
	s := &spreader{o: o, p: p, scratch: scratch, buffers: make([][]byte, p.buckets()), done: make([]bucket, p.buckets())}
	// One more than asked for, so that with one, too, files are read while rows are written.
	if err := replay.MapOrdered(ctx, o.Threads+1, replay.Items(p.Inputs), s.read, s.collect); err != nil {
		return nil, err
	}
	return &spread{s.done}, s.finish()
}

// read packs the kept rows of one file.
func (s *spreader) read(_ context.Context, in *Input) (*spreadRows, error) {
	c := chunk{path: in.Path}
	games, _, err := c.read(s.o.FS, in.Bytes)
	if err != nil {
		return nil, err
	}
	out := &spreadRows{}
	w := rowPacker{s: s, out: out, batch: encoding.NewTrainBatch(0)}
	w.replayer.Extra = record.Extra{ShortTerm: s.p.ShortTerm, Ahead: s.p.Ahead}
	done := map[string]bool{}
	for _, id := range in.Skip {
		done[id] = true
	}
	games = slices.DeleteFunc(games, func(g *record.Game) bool {
		id := hex.EncodeToString(g.ID[:])
		twice := done[id]
		done[id] = true
		return twice
	})
	if train, val := s.p.SideRows(in.Path, games); train != in.TrainRows || val != in.ValRows {
		return nil, fmt.Errorf("%s: %w: %d training and %d validation rows, counted before: %d and %d",
			in.Path, ErrInputChanged, train, val, in.TrainRows, in.ValRows)
	}
	for _, g := range games {
		if err := w.game(g, s.p.validation(in.Path, g.ID)); err != nil {
			return nil, fmt.Errorf("%s: game %x: %w", in.Path, g.ID, err)
		}
	}
	return out, nil
}

// rowPacker packs rows of games. Used by one goroutine.
type rowPacker struct {
	s        *spreader
	out      *spreadRows
	batch    *encoding.TrainBatch
	replayer record.Replayer
	plies    []int
	row      []byte
}

// game draws and packs the rows of one game.
func (w *rowPacker) game(g *record.Game, validation bool) error {
	p, l := w.s.p, &w.s.p.layout
	first, n := 0, l.trainBuckets()
	if validation {
		first, n = n, l.buckets()-n
	}
	rng := newRand(streamSpread, p.Seed, g.ID[:])
	w.plies = w.plies[:0]
	for i := range g.Plies {
		if !g.Plies[i].Trained() || rng.Float64() >= p.KeepShare {
			continue
		}
		w.plies = append(w.plies, i)
		w.out.to = append(w.out.to, uint32(first+rng.IntN(n)))
	}
	w.batch.Reset()
	if err := w.replayer.AppendRows(w.batch, g, w.plies); err != nil {
		return err
	}
	for i, ply := range w.plies {
		var err error
		if w.row, err = AppendRow(w.row[:0], w.batch, i, g.Plies[ply].Counts); err != nil {
			return err
		}
		w.out.data = binary.AppendUvarint(w.out.data, uint64(len(w.row)))
		w.out.data = append(w.out.data, w.row...)
		w.out.ends = append(w.out.ends, len(w.out.data))
	}
	return nil
}

// collect appends the rows of a file to their buckets.
func (s *spreader) collect(_ context.Context, rows *spreadRows) error {
	from := 0
	for k, end := range rows.ends {
		to := rows.to[k]
		s.buffers[to] = append(s.buffers[to], rows.data[from:end]...)
		s.done[to].Rows++
		from = end
		if len(s.buffers[to]) >= s.p.flush {
			if err := s.flush(int(to), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush appends what was collected for a bucket to its file.
func (s *spreader) flush(k int, sync bool) error {
	b := &s.done[k]
	f, err := s.o.FS.OpenFile(bucketPath(s.scratch, k), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		_, err = f.Write(s.buffers[k])
		if err == nil && sync {
			if err = f.Sync(); err != nil {
				err = fmt.Errorf("%w: %w", fsx.ErrSync, err)
			}
		}
		err = cmp.Or(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write bucket: %w", err)
	}
	b.Bytes += int64(len(s.buffers[k]))
	b.CRC = crc32.Update(b.CRC, castagnoli, s.buffers[k])
	s.buffers[k] = s.buffers[k][:0]
	return nil
}

// finish writes what is left and makes all buckets durable.
func (s *spreader) finish() error {
	for k := range s.buffers {
		if err := s.flush(k, true); err != nil {
			return err
		}
		s.buffers[k] = nil
	}
	return fsx.SyncDir(s.o.FS, s.scratch)
}
