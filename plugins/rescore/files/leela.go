package files

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/chunks"
)

// leela rescores a chunk, or a tar of them, into one of the same members. What
// the rescorer does not change of a record stays as it was, bit for bit.
func (r *Run) leela(ctx context.Context, j Job) error {
	src, err := lc0.OpenSource(j.In)
	if err != nil {
		return r.orDamage(err)
	}
	if j.Kind == LeelaChunk && src.Len() != 1 {
		r.damaged(fmt.Errorf("%s: a tar: rename it to *.tar", j.In))
		return nil
	}
	bad := src.Bad
	for i := range bad {
		r.damaged(&bad[i])
	}
	before := r.Report.Changes
	err = fsx.WriteFileFunc(r.FS, j.Out, func(w io.Writer) error {
		if j.Kind == LeelaTar {
			return r.members(ctx, j, src, w)
		}
		ok, err := r.chunk(ctx, j, src, 0, w)
		if err == nil && !ok {
			return errNothing
		}
		return err
	})
	switch {
	case err == nil:
		r.Report.Files++
	case errors.Is(err, errNothing): // all of it is damage, which stands in the report
		r.Report.Changes, err = before, nil
	}
	return err
}

// errNothing ends the writing of a file that would be empty.
var errNothing = errors.New("no chunk that can be read")

// members writes the chunks of src as a tar.
func (r *Run) members(ctx context.Context, j Job, src *lc0.Source, w io.Writer) error {
	out, some := tar.NewWriter(w), false
	var buf bytes.Buffer
	for i := range src.Len() {
		buf.Reset()
		ok, err := r.chunk(ctx, j, src, i, &buf)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		some = true
		// No times and owners: equal chunks give equal bytes.
		head := &tar.Header{Typeflag: tar.TypeReg, Name: src.Name(i), Mode: 0o644, Size: int64(buf.Len())}
		if err := out.WriteHeader(head); err != nil {
			return fmt.Errorf("%s: member %s: %w", j.In, src.Name(i), err)
		}
		if _, err := out.Write(buf.Bytes()); err != nil {
			return err
		}
	}
	if !some {
		return errNothing
	}
	return out.Close()
}

// chunk rescores chunk i of src and writes it to w. ok is false where it cannot
// be read, which the report then says.
func (r *Run) chunk(ctx context.Context, j Job, src *lc0.Source, i int, w io.Writer) (ok bool, err error) {
	g, err := chunks.Read(src, i)
	if err != nil {
		return false, r.orDamage(err) // names file and member
	}
	rescored, err := r.one(ctx, g.Rec)
	if err == nil {
		err = lc0.WriteChunkForm(w, rescored, r.Form)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %s: %w", j.In, src.Name(i), err)
	}
	return true, nil
}

// orDamage takes down an error that tells of damaged data; others it returns.
func (r *Run) orDamage(err error) error {
	for _, damage := range []error{lc0.ErrCorruptRecord, lc0.ErrNoGame, lc0.ErrNoSource} {
		if errors.Is(err, damage) {
			r.damaged(err)
			return nil
		}
	}
	return err
}
