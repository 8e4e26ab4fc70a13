package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// split writes games into chunk files of a step's directory and keeps its
// manifest: each chunk is durable and listed before the next one is begun. Used
// by one goroutine; one process at a time.
type split struct {
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

// openSplit begins or goes on with the step that want describes (Step, Settings,
// Inputs) in dir: chunks of size games each. Where its manifest is done there is
// nothing to write. A directory of another step is ErrOther, one that is not empty and
// has no manifest ErrForeign; neither is touched.
func openSplit(fsys fsx.FS, dir string, size int, want Manifest) (*split, error) {
	if size < 1 {
		return nil, fmt.Errorf("chunk size %d: want 1 or more", size)
	}
	have, err := ReadManifest(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		want.Version, want.Files = manifestVersion, []File{}
		s := &split{fsys: fsys, dir: dir, size: size, manifest: &want}
		return s, s.begin()
	}
	if err != nil {
		return nil, err
	}
	if why := have.differs(&want); why != "" {
		return nil, fmt.Errorf("%w: %s: %s; choose another directory, or clean this one up", ErrOther, dir, why)
	}
	s := &split{fsys: fsys, dir: dir, size: size, manifest: have}
	return s, s.resume()
}

// begin makes the directory and its first manifest.
func (s *split) begin() error {
	entries, err := s.fsys.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.manifest.Made = true
		err = fsx.MkdirAll(s.fsys, s.dir)
	}
	if err != nil {
		return fmt.Errorf("begin step in %s: %w", s.dir, err)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !fsx.IsTempOf(e.Name(), ManifestName) }) {
		return fmt.Errorf("%w: %s; choose another directory", ErrForeign, s.dir)
	}
	if err := fsx.RemoveTempsOf(s.fsys, filepath.Join(s.dir, ManifestName)); err != nil {
		return fmt.Errorf("remove unfinished manifest: %w", err)
	}
	return s.manifest.write(s.fsys, s.dir)
}

// resume holds the chunks of an earlier start against the manifest and removes
// what it was writing when it ended.
func (s *split) resume() error {
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
	if err := fsx.RemoveTempsOf(fsys, filepath.Join(dir, ManifestName)); err != nil {
		return fmt.Errorf("remove unfinished manifest: %w", err)
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

// add appends the next game. After a resume the games that whole chunks hold
// already are passed over: the caller adds the same games in the same order.
func (s *split) add(g *record.Game) error {
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
	s.current.Rows += g.NumRows()
	if s.current.Games == s.size {
		return s.endChunk()
	}
	if s.current.Games%syncGames != 0 {
		return nil
	}
	if err := s.writer.Sync(); err != nil {
		return err
	}
	if _, err := s.fsys.Stat(filepath.Join(s.dir, fileName(len(s.manifest.Files)))); err == nil { // it was large enough
		return s.endChunk()
	}
	return nil
}

// beginChunk says in the manifest which chunk comes, before its file is made.
func (s *split) beginChunk() error {
	s.manifest.Making = stem(len(s.manifest.Files))
	if err := s.manifest.write(s.fsys, s.dir); err != nil {
		return err
	}
	s.writer = replay.NewWriter(s.fsys, s.dir, replay.WriterOptions{NetID: s.manifest.Step, MaxBytes: maxChunkBytes})
	s.current = File{Name: fileName(len(s.manifest.Files))}
	return nil
}

// endChunk seals the chunk being written, if there is one, and lists it.
func (s *split) endChunk() error {
	if s.writer == nil {
		return nil
	}
	err := s.writer.Close()
	s.writer = nil
	if err != nil {
		return err
	}
	f := s.current
	if f.SHA256, f.Size, err = fsx.HashFile(s.fsys, filepath.Join(s.dir, f.Name)); err != nil {
		return fmt.Errorf("list chunk %s: %w (does another process write in %s?)", f.Name, err, s.dir)
	}
	s.manifest.Files = append(s.manifest.Files, f)
	s.manifest.Making = ""
	return s.manifest.write(s.fsys, s.dir)
}

// abort closes the chunk being written without listing it; the next start
// removes it.
func (s *split) abort() error {
	if s.writer == nil {
		return nil
	}
	return s.writer.Close()
}

// finish seals the last chunk and marks the step as done. counts are those of
// the whole step; Games, Positions and Rows are filled in here. Without any game
// it is ErrNoInput, and the step is not done.
func (s *split) finish(counts Counts) error {
	if err := s.endChunk(); err != nil {
		return err
	}
	if s.skip > 0 {
		return fmt.Errorf("%w: %s: its chunks hold %d games more than its inputs; clean the directory up and begin anew", ErrOther, s.dir, s.skip)
	}
	for _, f := range s.manifest.Files {
		counts.Games += int64(f.Games)
		counts.Positions += int64(f.Positions)
		counts.Rows += int64(f.Rows)
	}
	if counts.Games == 0 {
		return fmt.Errorf("%w: of %d games read none is left for %s", ErrNoInput, counts.Read, s.dir)
	}
	s.manifest.Counts, s.manifest.Done = counts, true
	return s.manifest.write(s.fsys, s.dir)
}
