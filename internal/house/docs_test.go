package house

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

const (
	root         = "../.."
	architecture = "docs/ARCHITECTURE.md"

	readmeLines = 120 // of README.md; more is a page of docs
	proseWidth  = 100 // columns of a line outside of tables and code
)

// pages lists the documents of the repository: README, and every page below docs,
// plugins and configs.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md"}
	for _, folder := range []string{"docs", "plugins", "configs"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(name string, _ fs.DirEntry, err error) error {
			if path.Ext(name) == ".md" {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// goFolders lists the folders of the module that have Go code.
func goFolders(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	folders := strings.Fields(strings.ReplaceAll(string(out), module, ""))
	if len(folders) < 10 {
		t.Fatalf("go list shows only %d folders", len(folders))
	}
	return folders
}

// page returns the lines of a document.
func page(t *testing.T, name string) []string {
	t.Helper()
	text := filetest.Read(t, filepath.Join(root, name))
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// prose returns the lines outside of code blocks, "" in the place of the others, so
// that an index is a line number less one.
func prose(lines []string) []string {
	lines = slices.Clone(lines)
	code := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || code {
			lines[i] = ""
		}
		if fence {
			code = !code
		}
	}
	return lines
}

// wide returns the numbers of the lines that are longer than proseWidth, tables and
// code apart.
func wide(lines []string) (numbers []int) {
	for i, line := range prose(lines) {
		if !strings.HasPrefix(line, "|") && utf8.RuneCountInString(line) > proseWidth {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`) // the target of a link in Markdown
	quoted = regexp.MustCompile("`([^`]+)`")       // what stands between backquotes
)

// broken returns the links of a document whose file is not there. There says whether
// a path of the repository exists. Links into the web, and within a page, are left out.
func broken(name string, lines []string, there func(string) bool) (targets []string) {
	for _, line := range prose(lines) {
		for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(line, ""), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if file == "" || strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if !there(path.Join(path.Dir(name), file)) {
				targets = append(targets, m[1])
			}
		}
	}
	return targets
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// TestReadmeIsShort: README is a page that is read to its end.
func TestReadmeIsShort(t *testing.T) {
	if n := len(page(t, "README.md")); n > readmeLines {
		t.Errorf("README.md has %d lines, want at most %d: move what is more to docs", n, readmeLines)
	}
}

// TestProseFitsTheScreen: the first two pages are read in a terminal, too.
func TestProseFitsTheScreen(t *testing.T) {
	for _, name := range []string{"README.md", architecture} {
		if numbers := wide(page(t, name)); numbers != nil {
			t.Errorf("%s: lines %v have more than %d columns", name, numbers, proseWidth)
		}
	}
}

// TestLinks: a file that moves takes the links to it along.
func TestLinks(t *testing.T) {
	for _, name := range pages(t) {
		for _, target := range broken(name, page(t, name), exists) {
			t.Errorf("%s: nothing is at %s", name, target)
		}
	}
}

// row is a line of a table whose first cell names folders and whose last names files
// of the first of them.
type row struct{ folders, files []string }

// folderRows returns the rows of the table of folders in the architecture: those with
// a path in their first cell.
func folderRows(lines []string) (rows []row) {
	for _, line := range prose(lines) {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		var r row
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			r.folders = append(r.folders, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			r.files = append(r.files, m[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// TestArchitectureNamesTheTree: each folder with Go code has a row, and the files to
// begin with are there: so no row is of a folder that is gone.
func TestArchitectureNamesTheTree(t *testing.T) {
	rows := folderRows(page(t, architecture))
	named := map[string]bool{}
	for _, r := range rows {
		if len(r.files) == 0 || len(r.files) > 3 {
			t.Errorf("%s: the row of %s names %d files, want one to three", architecture, r.folders, len(r.files))
		}
		for _, folder := range r.folders {
			if named[folder] {
				t.Errorf("%s: %s has two rows", architecture, folder)
			}
			named[folder] = true
			for _, file := range r.files {
				if !exists(path.Join(folder, file)) {
					t.Errorf("%s: there is no %s/%s", architecture, folder, file)
				}
			}
		}
	}
	for _, folder := range goFolders(t) {
		if !named[folder] {
			t.Errorf("%s has no row for %s", architecture, folder)
		}
	}
}

// TestArchitectureNamesFiles: the files that its walks go through are there.
func TestArchitectureNamesFiles(t *testing.T) {
	found := 0
	for i, line := range prose(page(t, architecture)) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(m[1], "/") || path.Ext(m[1]) != ".go" {
				continue
			}
			found++
			if !exists(m[1]) {
				t.Errorf("%s:%d: there is no %s", architecture, i+1, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("%s names only %d files", architecture, found)
	}
}

// TestDocsChecksCanFail shows that each check finds what it is for.
func TestDocsChecksCanFail(t *testing.T) {
	long := strings.Repeat("x", proseWidth+1)
	text := []string{"| " + long, long, "```", long, "[a](gone.md#b)", "```", "[c](here.md) [d](../e) [f](https://g) `k[l](m)`", "| `h` | i | `j.go` |"}
	if got := wide(text); !slices.Equal(got, []int{2}) {
		t.Errorf("wide lines %v, want line 2", got)
	}
	var asked []string
	got := broken("docs/x.md", text, func(name string) bool {
		asked = append(asked, name)
		return name == "docs/here.md"
	})
	if !slices.Equal(got, []string{"../e"}) || !slices.Equal(asked, []string{"docs/here.md", "e"}) {
		t.Errorf("broken links %q of %q", got, asked)
	}
	if rows := folderRows(text); len(rows) != 1 || rows[0].folders[0] != "h" || rows[0].files[0] != "j.go" {
		t.Errorf("rows %v", rows)
	}
}
