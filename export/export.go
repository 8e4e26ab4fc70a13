package export

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/stage"
)

// ErrNotFinite says that a net has a NaN or an infinity in it and was not
// exported.
var ErrNotFinite = errors.New("the net holds a number that is not finite")

// Names returns the names of the built-in exporters, sorted.
func Names() []string { return []string{"safetensors"} }

// New returns a built-in exporter by name, writing to the real file system.
func New(name string) (stage.Exporter, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown exporter %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	return NewSafetensors(fsx.OS), nil
}

// checkFinite returns ErrNotFinite with the tensor's name.
func checkFinite(tensors []stage.Tensor) error {
	for _, t := range tensors {
		for i, v := range t.Data {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("tensor %s, element %d is %v: %w", t.Name, i, v, ErrNotFinite)
			}
		}
	}
	return nil
}

// checkName refuses net names that are no plain file names.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return fmt.Errorf("net name %q is not a plain file name", name)
	}
	return nil
}
