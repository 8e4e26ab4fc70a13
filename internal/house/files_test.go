package house

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// opens is a call that waits without an end for the writer of a pipe.
var opens = regexp.MustCompile(`\bos\.(Open|ReadFile)\(`)

// openers are who may make it: fsx itself, generators, what reads files of the system or of
// this program, and rooms without fsx that look at the kind of file first.
var openers = []string{
	"internal/fsx/", "nn/kernel/gen", "nn/cuda/", "cmd/chessbrain/benchplugins.go", "internal/spawn/", "internal/bench/machine.go",
	"internal/fleet/", "encoding/lc0/", "chess/syzygy/",
}

// TestFilesAreOpenedByFsx: a file that a user or a run names is opened by internal/fsx.
func TestFilesAreOpenedByFsx(t *testing.T) {
	for _, path := range sources(t) {
		text := filetest.Read(t, filepath.Join(root, path))
		if opens.Match(text) && !slices.ContainsFunc(openers, func(by string) bool { return strings.HasPrefix(path, by) }) {
			t.Errorf("%s calls %s: a pipe would be waited for; use fsx", path, opens.Find(text))
		}
	}
}
