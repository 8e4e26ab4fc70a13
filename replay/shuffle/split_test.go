package shuffle

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// TestFileShare: int(md5(name)[:13], 16) / 2^52, with sums of RFC 1321, A.5.
func TestFileShare(t *testing.T) {
	for _, c := range []struct {
		name string
		top  uint64
	}{
		{"", 0xd41d8cd98f00b},                           // d41d8cd98f00b204e9800998ecf8427e
		{"a", 0x0cc175b9c0f1b},                          // 0cc175b9c0f1b6a831c399e269772661
		{"abc", 0x900150983cd24},                        // 900150983cd24fb0d6963f7d28e17f72
		{"message digest", 0xf96b697d7cb79},             // f96b697d7cb7938d525a2f31aaf161d0
		{"abcdefghijklmnopqrstuvwxyz", 0xc3fcd3d76192e}, // c3fcd3d76192e4007dfb496cca67e13b
	} {
		if got, want := FileShare(c.name), float64(c.top)/(1<<52); got != want {
			t.Errorf("share of %q is %v, want %v", c.name, got, want)
		}
	}
	// The numbers are evenly spread: 5 % +- 5 standard deviations of 20000.
	val := 0
	for k := range 20000 {
		if FileShare(fmt.Sprintf("%08d.games", k)) >= 0.95 {
			val++
		}
	}
	if math.Abs(float64(val)-1000) > 5*math.Sqrt(20000*.05*.95) {
		t.Errorf("%d of 20000 files are for validation, want about 1000", val)
	}
}

// TestSplitByFile: whole files fall on a side, also while they grow, and a game
// in two files is on one side only.
func TestSplitByFile(t *testing.T) {
	m := memfs.New()
	games := testGames(0, 30, 20)
	// In a process's directory: file 1 for validation (share 0.33..), others not.
	o := testOptions(m)
	o.Split = SplitByFile
	o.Validation = 1 - FileShare("00000001.games")
	if o.validation("x/00000001.games.tmp", [16]byte{}) != true || o.validation("x/y.games", [16]byte{}) != (FileShare("y.games") >= FileShare("00000001.games")) {
		t.Fatal("side of a file")
	}
	writeGames(t, m, "run/selfplay/a/p0", games[:10])
	for k := range 20 { // the second file of p1: another name
		writeGames(t, m, "run/selfplay/a/p1", games[8+k:9+k])
	}
	manifest, train, val := shuffled(t, o)
	if len(val) == 0 || len(train) == 0 || manifest.Duplicates != 2 {
		t.Fatalf("%d rows for training, %d for validation, %d duplicates", len(train), len(val), manifest.Duplicates)
	}
	seen := map[string]bool{}
	for _, row := range train {
		seen[row] = true
	}
	for _, row := range val {
		if seen[row] {
			t.Fatal("a row is on both sides")
		}
	}
	if _, err := MakePlan(context.Background(), Options{FS: m, InputDirs: o.InputDirs, OutputDir: "x", Settings: Settings{
		Window: o.Window, RowsPerFile: 1, Split: "moon"}}); err == nil {
		t.Error("an unknown split is taken")
	}
}
