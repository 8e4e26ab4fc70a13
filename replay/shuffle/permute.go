package shuffle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Second phase: each bucket is permuted evenly in memory, and buckets become
// files. As each row went to an evenly drawn bucket, every order of all rows is
// equally likely.

// permuteAll writes all files of the shuffle that are not there yet into dir and
// fills in m. Each is complete and durable when it appears under its name.
func (o *Options) permuteAll(ctx context.Context, p *Plan, s *spread, scratch, dir string) (*Manifest, error) {
	m := &Manifest{Plan: *p, Train: make([]OutFile, p.TrainFiles), Val: make([]OutFile, p.ValFiles)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Threads)
	for k := range p.TrainFiles + p.ValFiles {
		out := fileOf(m, k)
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return o.permuteFile(p, s, scratch, dir, k, out)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	m.TrainRows, m.HeldRows = Rows(m.Train), Rows(m.Val)
	return m, nil
}

// fileOf returns the entry of file k, named.
func fileOf(m *Manifest, k int) *OutFile {
	folder, list := trainDir, m.Train
	if k >= len(m.Train) {
		folder, list, k = valDir, m.Val, k-len(m.Train)
	}
	list[k].Name = fmt.Sprintf("%s/data%06d%s", folder, k, rowsSuffix)
	return &list[k]
}

// permuteFile writes file k, or checks it where an interrupted shuffle has
// written it before.
func (o *Options) permuteFile(p *Plan, s *spread, scratch, dir string, k int, out *OutFile) error {
	path := filepath.Join(dir, filepath.FromSlash(out.Name))
	buckets := s.Buckets[k*p.BucketsPerFile : (k+1)*p.BucketsPerFile]
	for _, b := range buckets {
		out.Rows += b.Rows
	}
	if done, err := o.checkFile(path, out); done || err != nil {
		return err
	}
	rows := make([][]byte, 0, out.Rows)
	for j := range buckets {
		id := k*p.BucketsPerFile + j
		data, err := fsx.ReadFile(o.FS, bucketPath(scratch, id))
		if err != nil {
			return fmt.Errorf("read bucket: %w", err)
		}
		from := len(rows)
		if rows, err = appendBucket(rows, data, buckets[j]); err != nil {
			return &CorruptError{Path: bucketPath(scratch, id), Reason: err.Error()}
		}
		permute(newRand(streamPermute, p.Seed, le.AppendUint64(nil, uint64(id))), rows[from:])
	}
	sum := sha256.New()
	err := fsx.WriteFileFunc(o.FS, path, func(w io.Writer) error { return encodeFile(io.MultiWriter(w, sum), rows) })
	if err != nil {
		return err
	}
	info, err := o.FS.Stat(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	out.Bytes, out.SHA256 = info.Size(), hex.EncodeToString(sum.Sum(nil))
	return nil
}

// appendBucket appends the rows of a bucket's bytes.
func appendBucket(rows [][]byte, data []byte, b bucket) ([][]byte, error) {
	if int64(len(data)) != b.Bytes || crc(data) != b.CRC {
		return nil, errors.New("bucket is not as it was written")
	}
	own, err := splitRows(data, int(b.Rows))
	return append(rows, own...), err
}

// permute puts a list into an order drawn evenly (Fisher and Yates).
func permute[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// checkFile says whether the file is there with the rows it should have.
func (o *Options) checkFile(path string, out *OutFile) (bool, error) {
	f, err := OpenRowFile(o.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if f.rows != out.Rows {
		return false, f.corrupt(0, "%d rows, want %d", f.rows, out.Rows)
	}
	out.SHA256, out.Bytes, err = fsx.HashFile(o.FS, path)
	return true, err
}
