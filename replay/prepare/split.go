package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// Split writes games into chunk files of a step's directory and keeps its
// manifest: each chunk is durable and listed before the next one is begun. Used
// by one goroutine; one process at a time.
type Split struct {
	fsys     fsx.FS
	dir      string
	size     int // games a chunk
	manifest *Manifest

	skip    int            // games that are in whole chunks already
	writer  *replay.Writer // of the chunk being written, nil between two
	current File
}

const (
	// syncGames is how many games share a sync, and how often a chunk's size is
	// looked at.
	syncGames = 512
	// maxChunkBytes ends a chunk that has fewer games than asked for: files of more
	// than 1 GiB are not read.
	maxChunkBytes = 256 << 20
)

// OpenSplit begins or goes on with the step that want describes (Step, Settings,
// Inputs) in dir: chunks of size games each. done says that it was finished
// before; then there is nothing to write. A directory of another step is ErrOther,
// one that is not empty and has no manifest ErrForeign; neither is touched.
func OpenSplit(fsys fsx.FS, dir string, size int, want Manifest) (s *Split, done bool, err error) {
	if size < 1 {
		return nil, false, fmt.Errorf("chunk size %d: want 1 or more", size)
	}
	s = &Split{fsys: fsys, dir: dir, size: size}
	have, err := ReadManifest(fsys, dir)
	switch {
	case err == nil:
		if why := have.differs(&want); why != "" {
			return nil, false, fmt.Errorf("%w: %s: %s; choose another directory, or clean this one up", ErrOther, dir, why)
		}
		s.manifest = have
		if err := s.resume(); err != nil {
			return nil, false, err
		}
		return s, have.Done, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	want.Version, want.Files, want.Making, want.Done, want.Counts = manifestVersion, []File{}, "", false, Counts{}
	s.manifest = &want
	return s, false, s.begin()
}

// begin makes the directory and its first manifest.
func (s *Split) begin() error {
	entries, err := s.fsys.ReadDir(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.manifest.Made = true
	case err != nil:
		return fmt.Errorf("begin step in %s: %w", s.dir, err)
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !isOwnTemp(e.Name()) }):
		return fmt.Errorf("%w: %s; choose another directory", ErrForeign, s.dir)
	}
	if err := fsx.MkdirAll(s.fsys, s.dir); err != nil {
		return fmt.Errorf("begin step in %s: %w", s.dir, err)
	}
	if err := removeTemps(s.fsys, s.dir); err != nil {
		return err
	}
	return s.manifest.write(s.fsys, s.dir)
}

// isOwnTemp says whether a name is that of a manifest that was never finished.
func isOwnTemp(base string) bool {
	return fsx.IsTemp(base) && strings.HasPrefix(base, "."+ManifestName+".")
}

// removeTemps removes manifests that were never finished.
func removeTemps(fsys fsx.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for unfinished manifests: %w", err)
	}
	for _, e := range entries {
		if !isOwnTemp(e.Name()) {
			continue
		}
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove unfinished manifest: %w", err)
		}
	}
	return nil
}

// resume holds the chunks of an earlier start against the manifest and removes
// what it was writing when it ended.
func (s *Split) resume() error {
	for _, f := range s.manifest.Files {
		info, err := s.fsys.Stat(filepath.Join(s.dir, f.Name))
		if err != nil {
			return fmt.Errorf("go on with step in %s: %w; clean the directory up and begin anew", s.dir, err)
		}
		if info.Size() != f.Size {
			return fmt.Errorf("%w: %s: %s has %d bytes, the manifest says %d; clean the directory up and begin anew",
				ErrOther, s.dir, f.Name, info.Size(), f.Size)
		}
		s.skip += f.Games
	}
	return removeLeft(s.fsys, s.dir, s.manifest)
}

// removeLeft removes what a stopped step left: unfinished manifests, and the
// chunk that it was writing, unless it came to be listed. Only a chunk that the
// manifest announced may be taken for the step's own.
func removeLeft(fsys fsx.FS, dir string, m *Manifest) error {
	if err := removeTemps(fsys, dir); err != nil {
		return err
	}
	if m.Making == "" || m.Making != stem(len(m.Files)) {
		return nil
	}
	for _, suffix := range []string{replay.SealedSuffix, replay.GrowingSuffix} {
		if err := fsys.Remove(filepath.Join(dir, m.Making+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished chunk: %w", err)
		}
	}
	return nil
}

// Add appends the next game. After a resume the games that whole chunks hold
// already are passed over: the caller adds the same games in the same order.
func (s *Split) Add(g *record.Game) error {
	if s.skip > 0 {
		s.skip--
		return nil
	}
	if s.writer == nil {
		if err := s.beginChunk(); err != nil {
			return err
		}
	}
	if err := s.writer.Append(g); err != nil {
		return err
	}
	s.current.Games++
	s.current.Positions += len(g.Plies)
	for i := range g.Plies {
		if trained(&g.Plies[i]) {
			s.current.Rows++
		}
	}
	if s.current.Games == s.size {
		return s.End()
	}
	if s.current.Games%syncGames != 0 {
		return nil
	}
	if err := s.writer.Sync(); err != nil {
		return err
	}
	if _, err := s.fsys.Stat(filepath.Join(s.dir, fileName(len(s.manifest.Files)))); err == nil { // it was large enough
		return s.End()
	}
	return nil
}

// beginChunk says in the manifest which chunk comes, before its file is made.
func (s *Split) beginChunk() error {
	s.manifest.Making = stem(len(s.manifest.Files))
	if err := s.manifest.write(s.fsys, s.dir); err != nil {
		return err
	}
	s.writer = replay.NewWriter(s.fsys, s.dir, replay.WriterOptions{NetID: s.manifest.Step, MaxBytes: maxChunkBytes})
	s.current = File{Name: fileName(len(s.manifest.Files))}
	return nil
}

// End seals the chunk being written, if there is one, and lists it.
func (s *Split) End() error {
	if s.writer == nil {
		return nil
	}
	err := s.writer.Close()
	s.writer = nil
	if err != nil {
		return err
	}
	f := s.current
	if f.SHA256, f.Size, err = hashFile(s.fsys, filepath.Join(s.dir, f.Name)); err != nil {
		return fmt.Errorf("list chunk %s: %w (does another process write in %s?)", f.Name, err, s.dir)
	}
	s.manifest.Files = append(s.manifest.Files, f)
	s.manifest.Making = ""
	return s.manifest.write(s.fsys, s.dir)
}

// Abort closes the chunk being written without listing it; the next start
// removes it. After End or Finish it does nothing.
func (s *Split) Abort() error {
	if s.writer == nil {
		return nil
	}
	w := s.writer
	s.writer = nil
	return w.Close()
}

// Finish seals the last chunk and marks the step as done. counts are those of
// the whole step; Games, Positions and Rows are filled in here. Without any game
// it is ErrNoInput, and the step is not done.
func (s *Split) Finish(counts Counts) (*Manifest, error) {
	if err := s.End(); err != nil {
		return nil, err
	}
	if s.skip > 0 {
		return nil, fmt.Errorf("%w: %s: its chunks hold %d games more than its inputs; clean the directory up and begin anew", ErrOther, s.dir, s.skip)
	}
	counts.Games, counts.Positions, counts.Rows = 0, 0, 0
	for _, f := range s.manifest.Files {
		counts.Games += int64(f.Games)
		counts.Positions += int64(f.Positions)
		counts.Rows += int64(f.Rows)
	}
	if counts.Games == 0 {
		return nil, fmt.Errorf("%w: of %d games read none is left for %s", ErrNoInput, counts.Read, s.dir)
	}
	s.manifest.Counts, s.manifest.Done = counts, true
	return s.manifest, s.manifest.write(s.fsys, s.dir)
}

// Manifest returns the step as it stands; it is not to be changed.
func (s *Split) Manifest() *Manifest { return s.manifest }
