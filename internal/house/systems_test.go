package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/chessbrain/chessbrain/internal/testing/slow"
)

// TestOtherSystems: everything, tests too, has its types right where no test runs: on other
// systems, and without a C compiler. To compile it for each would take some minutes.
func TestOtherSystems(t *testing.T) {
	if !slow.On {
		t.Skip("reads every package that is used: go test -tags slow")
	}
	ours, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range [][2]string{{"windows", "amd64"}, {"darwin", "arm64"}, {"linux", "arm64"}} {
		t.Run(system[0], func(t *testing.T) {
			cfg := &packages.Config{
				Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
					packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
				Context: t.Context(), Dir: ours, Tests: true,
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system[0], "GOARCH="+system[1]),
				ParseFile: func(files *token.FileSet, name string, source []byte) (*ast.File, error) {
					f, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
					if f != nil && !strings.HasPrefix(name, ours) && filepath.Ext(name) == ".go" { // not what go test generates
						withoutBodies(f)
					}
					return f, err
				},
			}
			all, err := packages.Load(cfg, "./...")
			if err != nil || len(all) < 100 {
				t.Fatalf("%d packages, %v", len(all), err)
			}
			for _, p := range all {
				for _, e := range p.Errors {
					t.Error(e)
				}
			}
		})
	}
}

// withoutBodies leaves of a file's functions what others see of them; init must have a body.
func withoutBodies(f *ast.File) {
	for _, d := range f.Decls {
		if function, ok := d.(*ast.FuncDecl); ok && function.Name.Name != "init" {
			function.Body = nil
		}
	}
}
