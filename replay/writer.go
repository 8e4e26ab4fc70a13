package replay

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// WriterOptions describe the chunks of a Writer. Zero values mean the default.
type WriterOptions struct {
	MaxBytes int64  // a chunk that has reached it is sealed at the next Sync; 16 MiB
	NetID    string // of the net that plays, in the file header
	RunID    string
	Reserve  *fsx.Reserve // room that must stay free when a chunk is begun; fsx.DefaultReserve
}

const (
	ChunkBytes = 16 << 20 // of a chunk, unless a writer is told otherwise; so much must be free beside the reserve
	blockBytes = 1 << 20  // a block is closed when it has reached this
)

// Writer appends games to chunk files in one directory. Used by one goroutine.
//
// A game is durable when a Sync after its Append has returned nil; many
// games may share one (group commit). After an error that is not
// fsx.ErrSync nothing is forgotten: the games wait and the next Sync writes
// them to a new chunk. fsx.ErrSync is fatal and comes back from every later call.
type Writer struct {
	fsys fsx.FS
	dir  string
	opt  WriterOptions

	block   gameBlock   // the one being filled
	pending []gameBlock // closed ones that no Sync has covered
	number  int         // of the chunk, 0 = not known yet

	file  *fsx.AppendFile // nil between chunks
	final string          // name when sealed
	sum   hash.Hash       // of what was written to file
	total footer          // of file

	durable int64 // games
	err     error // sticky
}

// gameBlock is a block, whose header is written when its offset is known.
type gameBlock struct {
	data         []byte // header included
	games, plies int
}

// newBlock returns an empty block.
func newBlock() gameBlock {
	return gameBlock{data: make([]byte, blockHeaderSize, blockHeaderSize+1<<12)}
}

// NewWriter returns a writer into dir, which is made when the first chunk is
// begun. Only one writer may use a directory at a time.
func NewWriter(fsys fsx.FS, dir string, opt WriterOptions) *Writer {
	opt.MaxBytes = cmp.Or(opt.MaxBytes, ChunkBytes)
	opt.Reserve = cmp.Or(opt.Reserve, &fsx.DefaultReserve)
	return &Writer{fsys: fsys, dir: dir, opt: opt, block: newBlock()}
}

// Durable returns how many games are on stable storage through this writer.
func (w *Writer) Durable() int64 { return w.durable }

// Append puts a game into the buffer. g is not kept.
func (w *Writer) Append(g *record.Game) error {
	if w.err != nil {
		return w.err
	}
	block, err := record.Append(w.block.data, g)
	if err != nil {
		return fmt.Errorf("append game %x: %w", g.ID, err)
	}
	if len(block)-blockHeaderSize > maxPayload {
		return fmt.Errorf("append game %x: it has %d bytes, a block holds at most %d", g.ID, len(block)-len(w.block.data), maxPayload)
	}
	w.block.data = block
	w.block.games++
	w.block.plies += len(g.Plies)
	if len(block) >= blockBytes {
		w.closeBlock()
	}
	return nil
}

// Sync makes every game that was appended before durable. With nothing to do
// it does nothing.
func (w *Writer) Sync() error {
	if err := w.flush(); err != nil || w.file == nil || w.file.Size() < w.opt.MaxBytes {
		return err
	}
	return w.Seal()
}

// flush makes all blocks durable, the one being filled, too.
func (w *Writer) flush() error {
	if w.err != nil {
		return w.err
	}
	w.closeBlock()
	if len(w.pending) == 0 {
		return nil
	}
	err := w.commit()
	if err != nil {
		w.abandon(err)
	}
	return err
}

// commit writes the pending blocks and syncs them.
func (w *Writer) commit() error {
	if err := w.open(); err != nil {
		return err
	}
	before := w.total.games
	for _, block := range w.pending {
		putBlockHeader(block.data, w.file.Size(), block.games, block.plies)
		if err := w.write(block.data); err != nil {
			return err
		}
		w.total.blocks++
		w.total.games += int64(block.games)
		w.total.positions += int64(block.plies)
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.pending = w.pending[:0]
	w.durable += w.total.games - before
	return nil
}

// Seal ends the current chunk, if there is one: it writes what is pending, the
// footer, and gives the file its final name. The next Append begins a new one.
func (w *Writer) Seal() error {
	if err := w.flush(); err != nil || w.file == nil {
		return err
	}
	if err := w.seal(); err != nil {
		w.abandon(err)
		return fmt.Errorf("seal chunk: %w", err)
	}
	return nil
}

// Close seals and ends the writer. A second Close does nothing.
func (w *Writer) Close() error {
	if errors.Is(w.err, ErrClosed) {
		return nil
	}
	err := w.Seal() // no file is open then, whatever it says
	if w.err == nil {
		w.err = fmt.Errorf("replay writer: %w", ErrClosed)
	}
	return err
}

func (w *Writer) seal() error {
	copy(w.total.sum[:], w.sum.Sum(nil))
	if _, err := w.file.Write(appendFooter(nil, w.file.Size(), w.total)); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	temp := w.file.Path()
	if err := w.file.Close(); err != nil {
		return err
	}
	w.file = nil
	if err := w.fsys.Rename(temp, w.final); err != nil {
		return err
	}
	return fsx.SyncDir(w.fsys, w.dir)
}

// abandon leaves the current chunk as it is: torn, its whole blocks count. A
// block that was written there and not acknowledged is written again; readers
// drop the second copy by its games' ids.
func (w *Writer) abandon(err error) {
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
	if errors.Is(err, fsx.ErrSync) {
		w.err = err
	}
}

// open begins a chunk if none is open.
func (w *Writer) open() error {
	if w.file != nil {
		return nil
	}
	header, err := appendHeader(nil, w.opt.NetID, w.opt.RunID)
	if err == nil {
		err = fsx.MkdirAll(w.fsys, w.dir)
	}
	if err == nil {
		err = w.opt.Reserve.Check(w.fsys, w.dir, uint64(w.opt.MaxBytes))
	}
	if err == nil {
		err = w.create()
	}
	if err != nil {
		return fmt.Errorf("begin chunk: %w", err)
	}
	w.sum, w.total = sha256.New(), footer{}
	return w.write(header)
}

// create opens the next free chunk name.
func (w *Writer) create() (err error) {
	if w.number == 0 {
		if w.number, err = lastNumber(w.fsys, w.dir); err != nil {
			return err
		}
	}
	for {
		w.number++
		name := filepath.Join(w.dir, fmt.Sprintf("%08d", w.number))
		if _, err := w.fsys.Stat(name + SealedSuffix); err == nil {
			continue
		}
		f, err := fsx.CreateAppend(w.fsys, name+GrowingSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		w.file, w.final = f, name+SealedSuffix
		return err
	}
}

// write appends to the chunk and to its hash.
func (w *Writer) write(p []byte) error {
	if _, err := w.file.Write(p); err != nil {
		return err
	}
	w.sum.Write(p)
	return nil
}

// closeBlock moves the block being filled to the pending ones.
func (w *Writer) closeBlock() {
	if w.block.games > 0 {
		w.pending, w.block = append(w.pending, w.block), newBlock()
	}
}

// lastNumber is the highest number of a chunk in a directory.
func lastNumber(fsys fsx.FS, dir string) (last int, err error) {
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		base, _, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.Atoi(base); err == nil && IsChunk(e.Name()) {
			last = max(last, n)
		}
	}
	return last, err
}

// AddSealed puts a whole sealed chunk, which another machine wrote, into dir as its
// newest. It is on stable storage when AddSealed returns nil. Nobody else may write there.
func AddSealed(fsys fsx.FS, dir string, data []byte) (path string, err error) {
	last := 0
	if err = fsx.MkdirAll(fsys, dir); err == nil {
		err = fsx.DefaultReserve.Check(fsys, dir, uint64(len(data)))
	}
	if err == nil {
		last, err = lastNumber(fsys, dir)
	}
	if err == nil {
		path = filepath.Join(dir, fmt.Sprintf("%08d", last+1)+SealedSuffix)
		err = fsx.WriteFile(fsys, path, data)
	}
	if err != nil {
		return "", fmt.Errorf("add chunk: %w", err)
	}
	return path, nil
}
