package shuffle

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// place is a row among those of several files, the next to come.
type place struct {
	File int   `json:"file"`
	Row  int64 `json:"row"` // of the file
}

// rowReader reads rows from one file after the other. The zero value with a
// file system stands nowhere.
type rowReader struct {
	fsys  fsx.FS
	path  string
	file  *RowFile
	row   int64    // the next one of the file
	block [][]byte // the rows of a block, from row on
}

func (r *rowReader) close() error {
	f := r.file
	r.file, r.block = nil, nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// seek stands at a row of the file at path, which should have so many rows.
func (r *rowReader) seek(path string, rows, row int64) error {
	if r.file == nil || r.path != path {
		r.close()
		f, err := OpenRowFile(r.fsys, path)
		if err != nil {
			return err
		}
		if f.rows != rows {
			f.Close()
			return f.corrupt(0, "%d rows, the shuffle's marker says %d", f.rows, rows)
		}
		r.path, r.file, r.row, r.block = path, f, 0, nil
	}
	if r.row == row && len(r.block) > 0 {
		return nil
	}
	blocks := r.file.blocks
	k := sort.Search(len(blocks), func(k int) bool { return blocks[k].firstRow+int64(blocks[k].rows) > row })
	if k == len(blocks) {
		return fmt.Errorf("%s has no row %d", path, row)
	}
	block, err := r.file.readBlock(k)
	if err != nil {
		return err
	}
	r.row, r.block = row, block[row-blocks[k].firstRow:]
	return nil
}

// next appends up to n rows of a shuffle's files, in their order, as many as a block has,
// and moves the place behind them. There are none behind the last file.
func (r *rowReader) next(b *encoding.TrainBatch, dir string, files []OutFile, at *place, n int) (int, error) {
	for at.File < len(files) && at.Row >= files[at.File].Rows {
		*at = place{File: at.File + 1}
	}
	if at.File == len(files) {
		return 0, nil
	}
	f := &files[at.File]
	if err := r.seek(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Rows, at.Row); err != nil {
		return 0, err
	}
	n = min(n, len(r.block))
	for _, data := range r.block[:n] {
		if err := DecodeRow(b, data); err != nil {
			return 0, r.file.corrupt(0, "row %d: %v", r.row, err)
		}
		r.row++
	}
	r.block = r.block[n:]
	at.Row += int64(n)
	return n, nil
}

// Pass goes once through the validation rows of a shuffle. Used by one
// goroutine.
type Pass struct {
	dir    string
	files  []OutFile
	reader rowReader
	at     place
	left   int64
	total  int64
}

// Validation returns a pass over the validation rows of the shuffle that is read
// now: all, or with maxRows > 0 the first maxRows, which are an even sample.
func (s *Source) Validation(maxRows int64) *Pass {
	m := s.Manifest()
	total := m.HeldRows
	if maxRows > 0 {
		total = min(total, maxRows)
	}
	return &Pass{dir: filepath.Join(s.dir, m.Name), files: m.Val, reader: rowReader{fsys: s.fsys}, left: total, total: total}
}

// NumRows returns the number of rows of the whole pass.
func (p *Pass) NumRows() int64 { return p.total }

// Next fills b, which comes empty, with the next len(b.Masks) rows or what is
// left; io.EOF when nothing is left.
func (p *Pass) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for n := len(b.Masks); b.N < n && p.left > 0; {
		took, err := p.reader.next(b, p.dir, p.files, &p.at, int(min(int64(n-b.N), p.left)))
		if err != nil {
			return fmt.Errorf("validation: %w", err)
		}
		p.left -= int64(took)
	}
	if b.N == 0 {
		p.reader.close()
		return io.EOF
	}
	return nil
}

// Close closes the file that the source is reading.
func (s *Source) Close() error { return s.reader.close() }
