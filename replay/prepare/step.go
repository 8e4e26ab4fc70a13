package prepare

import (
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// BeginStep makes the directory of a step whose files other code writes, or finds
// it again, and returns its manifest: Done says that there is nothing left to do.
// want holds Step, Settings and Inputs. Such a manifest lists no files, so that
// Cleanup takes nothing away that it cannot prove to be the step's. A directory
// of another step is ErrOther, one that is not empty and has no manifest
// ErrForeign; neither is touched.
func BeginStep(fsys fsx.FS, dir string, want Manifest) (*Manifest, error) {
	s, _, err := OpenSplit(fsys, dir, 1, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want.Step, err)
	}
	return s.manifest, nil
}

// EndStep marks a step of BeginStep as done, durable when it returns.
func EndStep(fsys fsx.FS, dir string, m *Manifest, counts Counts) error {
	m.Counts, m.Done = counts, true
	if err := m.write(fsys, dir); err != nil {
		return fmt.Errorf("%s: %w", m.Step, err)
	}
	return nil
}
