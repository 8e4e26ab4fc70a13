package syzygy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// sharedTables returns the folder of the tables of three and four men:
// $CHESSBRAIN_SHARED/data/syzygy, or ../shared beside the repository.
func sharedTables(t testing.TB) string {
	t.Helper()
	root := os.Getenv("CHESSBRAIN_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, "data", "syzygy")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED, shared test data missing (set CHESSBRAIN_SHARED): %v", err)
	}
	return dir
}

// openShared opens them.
func openShared(t testing.TB) *Tables {
	t.Helper()
	tables, err := Open(sharedTables(t))
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func parse(t testing.TB, fen string) *chess.Board {
	t.Helper()
	b, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatalf("%s: %v", fen, err)
	}
	return &b
}
