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
	"github.com/chessbrain/chessbrain/record"
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
		return r.chunks(ctx, j, src, func(_ string, chunk []byte) error {
			_, err := w.Write(chunk)
			return err
		})
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
	out := tar.NewWriter(w)
	err := r.chunks(ctx, j, src, func(name string, chunk []byte) error {
		// No times and owners: equal chunks give equal bytes.
		head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(chunk))}
		if err := out.WriteHeader(head); err != nil {
			return fmt.Errorf("%s: member %s: %w", j.In, name, err)
		}
		_, err := out.Write(chunk)
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// chunks rescores the chunks of src and hands each with its name to write, which must
// not keep it. The report names those that cannot be read. Without any other the error is
// errNothing.
func (r *Run) chunks(ctx context.Context, j Job, src *lc0.Source, write func(name string, chunk []byte) error) error {
	some := false
	var buf bytes.Buffer
	for from := 0; from < src.Len(); from += batchGames {
		var games []*record.Game
		var names []string
		for i := from; i < min(from+batchGames, src.Len()); i++ {
			g, err := chunks.Read(src, i)
			if err == nil {
				games, names = append(games, g.Rec), append(names, src.Name(i))
			} else if err = r.orDamage(err); err != nil { // names file and member
				return err
			}
		}
		out, err := r.rescore(ctx, games)
		if err != nil {
			return fmt.Errorf("%s: %w", j.In, err)
		}
		for i, g := range out {
			buf.Reset()
			if g, err = lc0.Researched(games[i], g); err == nil {
				err = lc0.WriteChunkForm(&buf, g, r.Form)
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", j.In, names[i], err)
			}
			if err := write(names[i], buf.Bytes()); err != nil {
				return err
			}
			some = true
		}
	}
	if !some {
		return errNothing
	}
	return nil
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
