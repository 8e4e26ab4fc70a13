package export

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/stage"
)

// Names returns the names of the built-in exporters, sorted.
func Names() []string { return []string{"safetensors"} }

// New returns a built-in exporter by name, writing to the real file system.
func New(name string) (stage.Exporter, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown exporter %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return NewSafetensors(fsx.OS), nil
}

// checkName refuses net names that are no plain file names.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return fmt.Errorf("net name %q is not a plain file name", name)
	}
	return nil
}
