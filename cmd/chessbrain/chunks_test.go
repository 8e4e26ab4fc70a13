package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/replay/prepare"
)

// TestPositionsDamage: a damaged manifest of the output has the exit code of damaged data.
func TestPositionsDamage(t *testing.T) {
	games, out := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(games, "00000000.games"), nil, 0o600),
		os.WriteFile(filepath.Join(out, prepare.ManifestName), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "positions", games, "--out", out); exitCode(err) != exitCorrupt {
		t.Errorf("error %v gives exit code %d", err, exitCode(err))
	}
}
