package loader

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// After Load the extractor's place is kept: the rows before and after a restart
// are all rows but those on the way at the moment of Save, and none comes twice.
func TestLoaderState(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 60)
	for i := 0; i < len(games); i += 10 {
		writeGames(t, filepath.Join(dir, fmt.Sprint(i)), games[i:i+10]...)
	}
	want, total := wantRows(t, games)
	// No game has the id that is refused.
	testLoaderState(t, chain(dir, func(c *Config) { c.Stages[3].ChunkRescorer.Rescorers = []stage.Rescorer{refusing{}} }), want, total, 0)
	const threads, batch = 2, 4
	plugin := pluginChain(dir, refusing{}, threads, batch)
	plugin.Stages[2].Output.Capacity = 4
	testLoaderState(t, plugin, want, total, (threads+3)*batch)
}

// testLoaderState stops a loader and goes on with another; more games may be on the
// way than in a chain without a plugin stage.
func testLoaderState(t *testing.T, c Config, want map[string]int, total, more int) {
	first := mustNew(t, c, Options{})
	b := encoding.NewTrainBatch(100)
	if err := first.Next(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	state := saved(t, first.Section())
	first.Close()
	got := map[string]int{}
	countRows(got, b)
	second := mustNew(t, c, Options{})
	if err := second.Section().Load(strings.NewReader(state), loaderVersion); err != nil {
		t.Fatal(err)
	}
	rest, n := readAll(t, second.Next, 64)
	for key, k := range rest {
		if got[key] += k; got[key] > want[key] {
			t.Fatal("a row came twice")
		}
	}
	// On the way: 3 queues of 4 games and the frames and batches of some 20
	// plies each, a game in each of 4 hands.
	if lost := total - n - b.N; lost < 0 || lost > (3*4+5+more)*20+4+5*8 {
		t.Errorf("%d of %d rows lost, with %d more games on the way", lost, total, more)
	}
	if err := second.Section().Load(strings.NewReader(state), loaderVersion); !errors.Is(err, ErrStarted) {
		t.Errorf("load while it runs: %v", err)
	}
}

// Damaged or foreign state is refused, says what is wrong, and changes nothing.
func TestLoaderStateRefused(t *testing.T) {
	dir := t.TempDir()
	writeGames(t, dir, randomGames(t, 0, 2)...)
	l := mustNew(t, wholeGraph(dir), Options{})
	readAll(t, l.Next, 50)
	state := saved(t, l.Section())
	fresh := mustNew(t, wholeGraph(dir), Options{})
	before := saved(t, fresh.Section())
	for n := range len(state) {
		if err := fresh.Section().Load(strings.NewReader(state[:n]), loaderVersion); err == nil {
			t.Fatalf("cut to %d of %d bytes it was taken", n, len(state))
		}
	}
	if err := fresh.Section().Load(strings.NewReader(state), loaderVersion+1); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
	renamed := wholeGraph(dir)
	renamed.Stages[3].Name, renamed.Stages[4].Inputs = "other", []string{"other"}
	if err := mustNew(t, renamed, Options{}).Section().Load(strings.NewReader(state), loaderVersion); err == nil ||
		!strings.Contains(err.Error(), `stage "all_a"`) || !strings.Contains(err.Error(), "all_b") {
		t.Error(err)
	}
	// The last part is bad: the ones before it go back.
	bad := state[:strings.LastIndex(state, "{")] + "[" + state[strings.LastIndex(state, "{")+1:]
	if err := fresh.Section().Load(strings.NewReader(bad), loaderVersion); err == nil || !strings.Contains(err.Error(), "stage") {
		t.Error(err)
	}
	if after := saved(t, fresh.Section()); after != before {
		t.Errorf("%q, want %q", after, before)
	}
	if err := fresh.Section().Load(strings.NewReader(state), loaderVersion); err != nil {
		t.Fatal(err)
	}
	if again := saved(t, fresh.Section()); again != state {
		t.Errorf("%q, want %q", again, state)
	}
}

// Parts of any size come back, in pieces or not.
func TestStateParts(t *testing.T) {
	for _, size := range []int{0, 1, partSize - 1, partSize, partSize + 1, 3 * partSize} {
		var out strings.Builder
		p := bufio.NewWriterSize(pieceWriter{&out}, partSize)
		text := strings.Repeat("x", size)
		for rest := text; rest != ""; {
			n := min(len(rest), 300_001)
			if _, err := io.WriteString(p, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		parts, err := readParts(strings.NewReader("\x01a\x07" + out.String() + "\x00\x00"))
		if err != nil || parts["a"].version != 7 || string(parts["a"].data) != text {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// No bytes make the reader panic or believe a size.
func FuzzLoaderState(f *testing.F) {
	f.Add([]byte("\x01a\x01\x02hi\x00\x00"))
	f.Add([]byte("\x05@schedule\x01\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := readParts(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		total := 0
		for name, p := range parts {
			total += len(name) + len(p.data)
		}
		if total > len(data) {
			t.Errorf("%d bytes out of %d", total, len(data))
		}
	})
}

// No bytes make the provider's list of files panic.
func FuzzLedgerState(f *testing.F) {
	f.Add([]byte("\x05a.tar0123456789abcdef"))
	f.Add([]byte("\xff\xff\xff\xff\x0f"))
	p := newWatchedDir(f).p
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := p.load(data); err != nil {
			return
		}
		if n := len(saved(t, p.Section())); n > len(data) {
			t.Errorf("%d bytes out of %d", n, len(data))
		}
	})
}
