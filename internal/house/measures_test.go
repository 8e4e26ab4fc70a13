package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// What the house is measured by. Each number may fall and is lowered here then; one that
// must rise is a reason to look for another place first.
const (
	maxRootEntries   = 20     // folders and files at the root that do not begin with a dot
	maxLines         = 133798 // of hand-written Go outside tests and test kits (that of plugin authors is one, too); watching a run is 3 650, players on other machines are 5 500, nets that grow within a run 350, a tree of several threads 450, further heads 560, what sparse nets read of moves 460, their tables in bf16 50, an update that workers share out evenly 30, attention nets on GPUs 1 050, all heads and losses there 180, PTX of tests for a GPU 20, several GPUs in one process 520, what keeps runs, trainings and players of one directory apart 60
	maxConfigGetters = 0      // calls in run outside run/setup: only setup shall read a configuration
	maxMethods       = 35     // of a type outside chess, mcts and run/verify
	maxFields        = 25     // of a struct in run
)

// larger are the types that are above the bounds: methods or fields as they are now.
var larger = map[string]int{}

// sources are the tracked Go files that are written by hand, without tests and kits.
func sources(t *testing.T) (files []string) {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.go").Output()
	if err != nil {
		t.Skip("this tree is no clone of the repository: git ls-files says ", err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, kits+"/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join("../..", path))
		if os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if head, _, _ := bytes.Cut(data, []byte("\npackage ")); !bytes.Contains(head, []byte("// Code generated")) {
			files = append(files, path)
		}
	}
	if len(files) < 100 {
		t.Fatalf("git lists only %d files", len(files))
	}
	return files
}

// TestMeasures holds the size of the house.
func TestMeasures(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	tracked, err := exec.Command("git", "-C", "../..", "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skip("this tree is no clone of the repository: git ls-tree says ", err)
	}
	inTree, root := strings.Fields(string(tracked)), 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && slices.Contains(inTree, e.Name()) {
			root++
		}
	}
	lines, getters := 0, 0
	getter := regexp.MustCompile(`\.Get[A-Z]\w*\(`)
	for _, path := range sources(t) {
		data := filetest.Read(t, filepath.Join("../..", path))
		if !strings.HasPrefix(path, "plugins/plugintest/") {
			lines += bytes.Count(data, []byte("\n"))
		}
		if strings.HasPrefix(path, "run/") && !strings.HasPrefix(path, "run/setup/") {
			getters += len(getter.FindAll(data, -1))
		}
	}
	for name, c := range map[string][2]int{
		"entries at the root": {root, maxRootEntries}, "lines of Go": {lines, maxLines},
		"getters of the configuration in run, outside run/setup": {getters, maxConfigGetters},
	} {
		t.Logf("%d %s", c[0], name)
		if c[0] > c[1] {
			t.Errorf("%d %s, at most %d", c[0], name, c[1])
		}
	}
}

// TestTypes: no type is a house of its own. What is above the bounds is listed with its
// number, and only shrinks.
func TestTypes(t *testing.T) {
	methods, fields := map[string]int{}, map[string]int{}
	for _, path := range sources(t) {
		folder := filepath.ToSlash(filepath.Dir(path))
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[folder+"."+receiver(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						if body, ok := s.Type.(*ast.StructType); ok {
							fields[folder+"."+s.Name.Name] = body.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	seen := map[string]bool{}
	check := func(what string, counts map[string]int, bound int, counted func(folder string) bool) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			folder, _, _ := strings.Cut(name, ".")
			if n := counts[name]; n > bound && counted(folder) {
				key := name + " " + what
				seen[key] = true
				if allowed := larger[key]; n > allowed {
					t.Errorf("%s has %d %s, at most %d", name, n, what, max(allowed, bound))
				} else if n < allowed {
					t.Errorf("%s has %d %s now: write that down in place of %d", name, n, what, allowed)
				}
			}
		}
	}
	check("methods", methods, maxMethods, func(folder string) bool {
		return !strings.HasPrefix(folder, "chess") && folder != "mcts" && folder != "run/verify"
	})
	check("fields", fields, maxFields, func(folder string) bool { return strings.HasPrefix(folder, "run") })
	for key := range larger {
		if !seen[key] {
			t.Errorf("%s is within the bounds: take it off the list", key)
		}
	}
}

// receiver is the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
