// Package golden finds the test data of the repository, internal/testing/data: perft
// counts, search trees of mctx, a net and games of Leela, and Syzygy tables. Its
// README says where each comes from.
//
//	f, err := os.Open(golden.Path(t, "leela", "games.tar"))
//
// A plain clone has all of it, so nothing is skipped for want of data: a file that is
// not there fails the test.
package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the absolute path of a file or folder of the test data.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	root, err := os.Getwd() // tests run in the folder of their package
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(root)
		if up == root {
			t.Fatal("test data: no go.mod above the working directory")
		}
		root = up
	}
	path := filepath.Join(append([]string{root, "internal", "testing", "data"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("test data: %v", err)
	}
	return path
}
