package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// PublishedSet is what one export came to: files that are kept, and go, together.
// Paths are those of Dir.shorten.
type PublishedSet struct {
	Path     string          `json:"path"` // export.path, filled in
	NetID    string          `json:"net_id"`
	Exporter string          `json:"exporter"` // name and settings
	Files    []PublishedPart `json:"files"`
	Dir      string          `json:"dir,omitempty"` // of several files, theirs alone
}

// PublishedPart is one file of a set.
type PublishedPart struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Hold fills in the files of a set: their paths once published, and the sizes
// that they have in staging.
func (s *PublishedSet) Hold(d Dir, staged, paths []string, own string) error {
	if own != "" {
		s.Dir = d.Shorten(own)
	}
	for i, f := range staged {
		info, err := os.Stat(f)
		if err != nil {
			return fmt.Errorf("exported file: %w", err)
		}
		s.Files = append(s.Files, PublishedPart{d.Shorten(paths[i]), info.Size()})
	}
	return nil
}

// Main is what stands for the set: its only file, or its directory.
func (s *PublishedSet) Main(d Dir) string {
	switch {
	case s.Dir != "":
		return d.NetPath(s.Dir)
	case len(s.Files) > 0:
		return d.NetPath(s.Files[0].Path)
	}
	return ""
}

// whole says whether all files of the set are there.
func (s *PublishedSet) whole(d Dir) bool {
	for _, f := range s.Files {
		if info, err := os.Stat(d.NetPath(f.Path)); err != nil || info.Size() != f.Bytes {
			return false
		}
	}
	return len(s.Files) > 0
}

// has says whether a file belongs to the set.
func (s *PublishedSet) has(path string) bool {
	return slices.ContainsFunc(s.Files, func(f PublishedPart) bool { return f.Path == path })
}

// Remove removes the files of a set that no set of rest has.
func (s *PublishedSet) Remove(d Dir, rest Published) error {
	if s.Dir != "" && !slices.ContainsFunc(rest, func(o PublishedSet) bool { return o.Dir == s.Dir }) {
		return fsx.RemoveDir(fsx.OS, d.NetPath(s.Dir))
	}
	for _, f := range s.Files {
		if slices.ContainsFunc(rest, func(o PublishedSet) bool { return o.has(f.Path) }) {
			continue
		}
		if err := fsx.OS.Remove(d.NetPath(f.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Published are the sets of a training, oldest first.
type Published []PublishedSet

// publishedList is the form of the file.
type publishedList struct {
	Version int       `json:"version"`
	Nets    Published `json:"nets"`
}

const publishedVersion = 1

// ReadPublished reads the list; there is false where nothing was published yet. An error
// with there is of a damaged one.
func ReadPublished(d Dir) (list Published, there bool, err error) {
	path := d.PublishedFile()
	var file publishedList
	there, err = ReadJSON(path, &file)
	if there && err == nil && file.Version != publishedVersion {
		err = fmt.Errorf("version %d, this build reads %d", file.Version, publishedVersion)
	}
	if err != nil {
		return nil, there, fmt.Errorf("list of published nets %s: %w; without it the newest net is published again, and older ones are no longer removed", path, err)
	}
	return file.Nets, there, nil
}

// Write replaces the list; nil means on stable storage.
func (p Published) Write(d Dir) error {
	if err := WriteJSON(d.PublishedFile(), publishedList{publishedVersion, p}); err != nil {
		return fmt.Errorf("list of published nets: %w", err)
	}
	return nil
}

// Find returns the set that has the path, net and exporter of want if all of it
// is there, else nil.
func (p Published) Find(d Dir, want PublishedSet) *PublishedSet {
	for i := range p {
		s := &p[i]
		if s.Path == want.Path && s.NetID == want.NetID && s.Exporter == want.Exporter && s.whole(d) {
			return s
		}
	}
	return nil
}

// Add returns the list with a set as its newest, without the older ones whose
// place it takes and those beyond the newest keep (0 = all), which are gone.
func (p Published) Add(set PublishedSet, keep int) (list, gone Published) {
	for _, s := range p {
		taken := !slices.ContainsFunc(s.Files, func(f PublishedPart) bool { return !set.has(f.Path) })
		if taken || s.Path == set.Path && s.Exporter == set.Exporter {
			gone = append(gone, s)
		} else {
			list = append(list, s)
		}
	}
	list = append(list, set)
	if keep > 0 && len(list) > keep {
		n := len(list) - keep
		gone, list = append(gone, list[:n]...), list[n:]
	}
	return list, gone
}

// PublishedFiles returns the files that the trainings of the run at root have
// published themselves and keep (export.keep). Of a list that was damaged nobody knows.
func PublishedFiles(root string) (files []string, err error) {
	trainings, err := fsx.Dirs(fsx.OS, Dir{Root: root}.Trainings())
	if err != nil {
		return nil, err
	}
	for _, t := range trainings {
		dir := Dir{Root: root, Training: t}
		list, _, err := ReadPublished(dir)
		if aside := dir.PublishedFile() + DamagedSuffix; err == nil && fsx.IsFile(aside) {
			err = fmt.Errorf("%s was put aside; remove it when its nets may go", aside)
		}
		if err != nil {
			return nil, err
		}
		for _, set := range list {
			for _, f := range set.Files {
				files = append(files, dir.NetPath(f.Path))
			}
		}
	}
	return files, nil
}
