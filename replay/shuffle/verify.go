package shuffle

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Verify reads all files of the finished shuffle in dir: that each is there,
// has the hash and the number of rows that the marker says, and that every row
// can be unpacked. It returns the marker, and the first fault.
func Verify(ctx context.Context, fsys fsx.FS, dir string) (*Manifest, error) {
	m, err := ReadManifest(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("verify shuffle: %w", err)
	}
	for _, want := range slices.Concat(m.Train, m.Val) {
		if err := verifyFile(ctx, fsys, filepath.Join(dir, filepath.FromSlash(want.Name)), want); err != nil {
			return nil, fmt.Errorf("verify shuffle: %w", err)
		}
	}
	return m, nil
}

func verifyFile(ctx context.Context, fsys fsx.FS, path string, want OutFile) error {
	f, err := OpenRowFile(fsys, path)
	if err != nil {
		return err
	}
	defer f.Close()
	got := OutFile{Name: want.Name, Rows: f.NumRows()}
	if err := f.describe(&got); err != nil {
		return err
	}
	b := encoding.NewTrainBatch(1)
	for k := range f.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := f.readBlock(k)
		if err != nil {
			return err
		}
		for i, row := range rows {
			b.Reset()
			if err := DecodeRow(b, row); err != nil {
				return f.corrupt(f.blocks[k].offset, "row %d: %v", f.blocks[k].firstRow+int64(i), err)
			}
		}
	}
	if got != want {
		return f.corrupt(0, "%d rows in %d bytes, hash %s; the marker says %d in %d, %s", got.Rows, got.Bytes, got.SHA256,
			want.Rows, want.Bytes, want.SHA256)
	}
	return nil
}
