package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, definition) }

// bishop is the whole table of results of king and bishop against king: 80
// bytes, as every such position is drawn, whoever is to move.
const bishop = "\x71\xe8\x23\x5d" + // magic
	"\x31\x00\xee\x66\x33\x00" + // three men, two sides to move; order of the men: kings, bishop
	"\x80\x02\x80\x02" // for either side to move one value: 2 = drawn

// tables writes that table into a directory and adds the directory of the
// repository's shared tables where it is there.
func tables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := make([]byte, 80)
	copy(file, bishop)
	if err := os.WriteFile(filepath.Join(dir, "KBvK.rtbw"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	root := os.Getenv("CHESSBRAIN_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	shared, err := filepath.Abs(filepath.Join(root, "data", "syzygy"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(shared); err != nil {
		t.Logf("only with the table of KBvK, the others are not here (set CHESSBRAIN_SHARED): %v", err)
		return dir
	}
	return dir + string(filepath.ListSeparator) + shared
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, definition, map[string]string{"paths": tables(t)})
}
