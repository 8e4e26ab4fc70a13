package house

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// pathWord is a path of the repository in a command: a package, a script, a file.
var pathWord = regexp.MustCompile(`(?:^|[\s="(])(\./[a-z][\w/-]*|(?:scripts|nn|configs)/[\w/.-]*\w)`)

// TestCommandsNameTheTree: what continuous integration and make run is there. A pattern
// of packages that matches nothing is only a warning of go, and a check that is gone.
func TestCommandsNameTheTree(t *testing.T) {
	for _, name := range []string{".ci/run", "Makefile"} {
		found := 0
		for i, line := range page(t, name) {
			folder := "." // that a command changes to
			if _, to, ok := strings.Cut(line, "cd nn/"); ok {
				folder = "nn/" + strings.Fields(to)[0]
			}
			for _, m := range pathWord.FindAllStringSubmatch(line, -1) {
				found++
				if !exists(strings.TrimSuffix(m[1], "/...")) && !exists(path.Join(folder, m[1])) {
					t.Errorf("%s:%d: there is no %s", name, i+1, m[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("%s names no path", name)
		}
	}
}
