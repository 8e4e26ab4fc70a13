package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestReadJournal: a torn line is told and stays, a wrong one is refused.
func TestReadJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	const line = `{"episode":1,"game":"000102030405060708090a0b0c0d0e0f","ordinal":3,"step":7}` + "\n"
	text := line + line[:20]
	filetest.Write(t, path, text)
	entries, torn, err := ReadJournal(path)
	if err != nil || len(entries) != 1 || torn != 20 {
		t.Fatalf("%v, %d bytes torn, %v", entries, torn, err)
	}
	if id, ok := entries[0].GameID(); !ok || id[1] != 1 || id[15] != 15 {
		t.Errorf("id %x", id)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("the journal was changed: %q, %v", data, err)
	}
	filetest.Write(t, path, line+"nonsense\n")
	var corrupt *fsx.CorruptError
	if _, _, err := ReadJournal(path); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
	if _, _, err := ReadJournal(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
