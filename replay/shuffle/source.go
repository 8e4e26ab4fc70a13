package shuffle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

var _ replay.Cursor = (*Source)(nil)

// Source reads the training rows of a shuffle, in its order, into batches. One
// goroutine calls Next and Section's functions; NumRows, Manifest, Newer,
// Advance and Version may be called meanwhile by another.
type Source struct {
	fsys fsx.FS
	dir  string // of the shuffles

	// Repeat makes the source begin again after the last row, with the files in
	// another order each time; without it the last row is followed by io.EOF.
	Repeat bool

	symmetric bool
	symSeed   uint64

	mu      sync.Mutex
	target  *Manifest // the shuffle to read; the cursor follows at the next Next
	forced  bool      // target was chosen by Advance and outlives Load
	version uint64

	at     cursor
	files  []OutFile // of the cursor's shuffle, in the order of the pass
	reader rowReader
}

// cursor is how far the source has read, as it is saved.
type cursor struct {
	Shuffle string `json:"shuffle"`
	Pass    uint64 `json:"pass"` // over the shuffle, from 0
	place          // in the order of the pass
	Rows    uint64 `json:"rows"` // handed out since the beginning of the run

	Target string `json:"target,omitempty"` // shuffle to go on with instead, from its first row
}

// OpenLatest opens the newest finished shuffle of a directory, at its first
// row; ErrNone where there is none.
func OpenLatest(fsys fsx.FS, dir string) (*Source, error) {
	m, err := Newest(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("open shuffle: %w", err)
	}
	if m == nil {
		return nil, fmt.Errorf("%s: %w: run chessbrain shuffle", dir, ErrNone)
	}
	s := &Source{fsys: fsys, dir: dir, target: m, reader: rowReader{fsys: fsys}}
	s.begin(m, cursor{Shuffle: m.Name})
	return s, nil
}

// ShowSymmetries makes every row appear under one of the board's symmetries that
// keep it true, drawn by a hash of the seed and the row's number, as
// replay.Source does.
func (s *Source) ShowSymmetries(seed uint64) { s.symmetric, s.symSeed = true, seed }

// Manifest returns the marker of the shuffle that is read now.
func (s *Source) Manifest() *Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.target
}

// NumRows returns the number of training rows of one pass.
func (s *Source) NumRows() int64 { return s.Manifest().TrainRows }

// Newer returns the marker of the newest finished shuffle if it is another than
// the one that is read, else nil. It looks at the directory at each call.
func (s *Source) Newer() (*Manifest, error) {
	names, err := List(s.fsys, s.dir)
	if err != nil || len(names) == 0 || names[len(names)-1] <= s.Manifest().Name {
		return nil, err
	}
	return ReadManifest(s.fsys, filepath.Join(s.dir, names[len(names)-1]))
}

// Advance goes on with the first row of shuffle m, one that Newer returned. A
// position loaded afterwards does not go back behind it.
func (s *Source) Advance(m *Manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target, s.forced = m, true
	s.version++
}

// Version changes with Advance: rows prepared before are not those to come.
func (s *Source) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// begin puts the cursor into shuffle m.
func (s *Source) begin(m *Manifest, at cursor) {
	s.at, s.files = at, passOrder(m, at.Pass)
	s.reader.close()
}

// passOrder returns the training files in the order of a pass: the first as they
// were written, later ones in an order drawn evenly.
func passOrder(m *Manifest, pass uint64) []OutFile {
	files := slices.Clone(m.Train)
	if pass > 0 {
		permute(newRand(streamPass, m.Seed, le.AppendUint64([]byte(m.Name), pass)), files)
	}
	return files
}

// Next fills b, which comes empty, with the next len(b.Masks) rows, fewer at the
// end; io.EOF when nothing is left (see Repeat). A row's weight is its position's. A
// damaged or missing file is an error that names it.
func (s *Source) Next(ctx context.Context, b *encoding.TrainBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m := s.Manifest(); m.Name != s.at.Shuffle {
		s.begin(m, cursor{Shuffle: m.Name, Rows: s.at.Rows})
	}
	for n := len(b.Masks); b.N < n; {
		took, err := s.reader.next(b, filepath.Join(s.dir, s.at.Shuffle), s.files, &s.at.place, n-b.N)
		if err != nil {
			return err
		}
		if took == 0 {
			m := s.Manifest()
			if !s.Repeat || m.TrainRows == 0 {
				break
			}
			s.begin(m, cursor{Shuffle: m.Name, Pass: s.at.Pass + 1, Rows: s.at.Rows})
		}
		for i := b.N - took; i < b.N; i++ {
			if s.symmetric {
				b.ApplySymmetry(i, b.DrawSymmetry(i, s.symSeed^s.at.Rows))
			}
			s.at.Rows++
		}
	}
	if b.N == 0 {
		return io.EOF
	}
	return nil
}

// Section is the cursor: shuffle, pass, file and row. After Load the same rows
// follow; the shuffle must still be there (*GoneError), unless Advance has been
// called: then its shuffle follows.
func (s *Source) Section() stage.Section {
	return replay.JSONSection("shuffle_source", "shuffle_source section", 1, s.save, s.load)
}

func (s *Source) save() cursor {
	at := s.at
	if m := s.Manifest(); m.Name != at.Shuffle {
		at.Target = m.Name
	}
	return at
}

func (s *Source) load(at cursor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := s.target
	if wanted := cmp.Or(at.Target, at.Shuffle); !s.forced && target.Name != wanted {
		var err error
		if target, err = s.open(wanted); err != nil {
			return err
		}
	}
	at.Target = ""
	if target.Name == at.Shuffle {
		files := passOrder(target, at.Pass)
		if at.File < 0 || at.File > len(files) || at.Row < 0 || at.File < len(files) && at.Row > files[at.File].Rows {
			return fmt.Errorf("shuffle_source section: file %d, row %d are not in shuffle %s", at.File, at.Row, at.Shuffle)
		}
	}
	s.target = target
	s.begin(target, at) // in another shuffle than target: Next goes on to that
	return nil
}

// open reads the marker of the shuffle that a saved position names.
func (s *Source) open(name string) (*Manifest, error) {
	if !isName(name) {
		return nil, fmt.Errorf("shuffle_source section: %q is no shuffle", name)
	}
	dir := filepath.Join(s.dir, name)
	m, err := ReadManifest(s.fsys, dir)
	if err != nil {
		return nil, &GoneError{Dir: dir, err: err}
	}
	return m, nil
}
