package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// layout is the file that names the parts of a run directory.
const layout = "run/layout.go"

// writesNames are files that name a part of a run directory themselves, and why.
var writesNames = map[string]string{
	"run/pipeline/sources.go": "the folder shuffled of a pipeline's base, which is no run",
}

// TestLayout: a part of a run directory has its name in run/layout.go alone. A name there
// is a string that is joined to a path, or a constant. Elsewhere it is a fault as an
// argument of Join or of a method path, in a comparison with a path's Base, as the value of
// a constant that is called a directory or a file, and, with a suffix such as run.json,
// anywhere. A stage's name in words is none.
func TestLayout(t *testing.T) {
	names := map[string]bool{}
	eachString(t, layout, func(text string, in ast.Node) {
		if text != "" && text[0] != '.' && (isPath(in) || strings.Contains(text, ".")) {
			names[text] = true
		}
	})
	if len(names) < 20 {
		t.Fatalf("%s names only %d parts", layout, len(names))
	}
	found := map[string]bool{}
	for _, path := range sources(t) {
		if !strings.HasPrefix(path, "run/") && !strings.HasPrefix(path, "cmd/") || path == layout {
			continue
		}
		eachString(t, path, func(text string, in ast.Node) {
			last := text[strings.LastIndexByte(text, '/')+1:]
			if !names[last] || strings.ContainsAny(text, " \n") || !strings.Contains(last, ".") && !isPath(in) {
				return
			}
			if found[path] = true; writesNames[path] == "" {
				t.Errorf("%s writes %q: take it from run.Dir (%s)", path, text, layout)
			}
		})
	}
	for path := range writesNames {
		if !found[path] {
			t.Errorf("%s writes no name of a run directory any more: take it off the list", path)
		}
	}
}

// isPath says whether a string in that node is a name on a disk.
func isPath(in ast.Node) bool {
	switch in := in.(type) {
	case *ast.CallExpr:
		f, ok := in.Fun.(*ast.SelectorExpr)
		return ok && (f.Sel.Name == "Join" || f.Sel.Name == "path")
	case *ast.BinaryExpr:
		call, ok := in.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "Base"
	case *ast.ValueSpec:
		return slices.ContainsFunc(in.Names, func(n *ast.Ident) bool {
			return strings.HasSuffix(n.Name, "Dir") || strings.HasSuffix(n.Name, "File")
		})
	}
	return false
}

// eachString calls found with each string of a file and the node that holds it. Tags of
// fields and imports are none.
func eachString(t *testing.T, path string, found func(text string, in ast.Node)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			in := above[len(above)-1]
			_, isField := in.(*ast.Field)
			_, isImport := in.(*ast.ImportSpec)
			if text, err := strconv.Unquote(l.Value); err == nil && !isField && !isImport {
				found(text, in)
			}
		}
		above = append(above, n)
		return true
	})
}

// TestDirs: what makes a directory also syncs the one that names it, or a power cut takes
// all that lies in it. Only places that may be lost make theirs without.
func TestDirs(t *testing.T) {
	lost, makes := []string{"internal/fsx/", "plugins/host/", "internal/bench/"}, regexp.MustCompile(`os\.Mkdir(All)?\(`)
	for _, path := range sources(t) {
		data := filetest.Read(t, filepath.Join("../..", path))
		if makes.Match(data) && !slices.ContainsFunc(lost, func(folder string) bool { return strings.HasPrefix(path, folder) }) {
			t.Errorf("%s: use fsx.MkdirAll", path)
		}
	}
}
