package runtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// Tiny makes a run of seconds: short games of a very small net.
const Tiny = `
selfplay { episodes: 8 cohort_size: 3 games_per_worker: 2 max_plies: 12 producer_queue_size: 2 }
mcts { simulations: 4 cache_entries: 100 }
model { arch { conv_tower { filters: 8 blocks: 1 } value_channels: 4 value_hidden: 8 moves_left_channels: 2 moves_left_hidden: 8 } }
training { threads: 1 batch_size: 4 steps_per_episode: 3 validation { share: 0.3 every: 4 max_rows: 16 } checkpoint { interval: 2 } }
`

// Resolve returns the effective configuration of a run in dir. Words of more
// that begin with -- are flags, the others are added to the tiny file.
func Resolve(t testing.TB, dir, more string) *config.Effective {
	t.Helper()
	e, err := ResolveText(dir, more)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ResolveText(dir, more string) (*config.Effective, error) {
	text := Tiny
	flags := config.NewFlagSet(config.TrainGroups...)
	for _, word := range strings.Fields(more) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(word, "--"), "="); strings.HasPrefix(word, "--") && ok {
			for _, v := range flags.Values() {
				if v.Flag().Name == name {
					if err := v.Set(value); err != nil {
						return nil, err
					}
				}
			}
			continue
		}
		text += " " + word
	}
	file, err := config.Parse("test.textproto", []byte(fmt.Sprintf("run_dir: %q\n%s", dir, text)))
	if err != nil {
		return nil, err
	}
	return config.Resolve(config.Input{File: file, Flags: flags})
}

// Trainings writes a run at root with trainings of these names, each with a configuration of
// its own, and what it told: told(i) are the events of the i-th, with their types.
func Trainings(t testing.TB, root string, names []string, told func(i int) []monitor.Event) run.Dir {
	t.Helper()
	own := run.NewDir(root, names[0], "job", "", "")
	put := func(path string, text []byte) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(own.RunFile(), []byte(`{"version": 1, "job": "job", "starts": 3}`))
	put(own.ConfigFile(), fmt.Appendf(nil, "training { training_name: %q }", names[0]))
	for i, name := range names {
		d := run.NewDir(root, name, "job", "", "")
		put(d.TrainingConfig(), fmt.Appendf(nil, "training { training_name: %q }", name))
		var lines []byte
		for seq, e := range told(i) {
			e.Head().V, e.Head().Seq, e.Head().Job = monitor.SchemaVersion, uint64(seq+1), "job"
			var err error
			if lines, err = monitor.AppendJSON(lines, e); err != nil {
				t.Fatal(err)
			}
		}
		put(filepath.Join(d.Learning, monitor.MetricsName), lines)
	}
	return own
}

// Course writes a list of 64 start positions, mates in one, and returns its path.
func Course(t testing.TB) string {
	t.Helper()
	var list strings.Builder
	for i := range 64 { // rule-50 counters make the lines differ
		fmt.Fprintf(&list, "7k/8/6K1/8/8/8/8/2Q5 w - - %d 1\n", i)
	}
	file := t.TempDir() + "/course.txt"
	if err := os.WriteFile(file, []byte(list.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// LogTo is a logger whose lines a test can look at.
func LogTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// GamesOnDisk counts the games of each process by id; one that is there twice is
// an error.
func GamesOnDisk(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	scan, err := replay.WalkGames(t.Context(), fsx.OS, run.Dir{Root: dir}.Selfplay(), func(_ string, g *record.Game) error {
		found[fmt.Sprintf("%x", g.ID)] = true
		return nil
	})
	if err != nil || scan.Duplicates > 0 || len(scan.Quarantine) > 0 {
		t.Fatalf("%v: %+v", err, scan)
	}
	return found
}

// AnyGame plays so many random plies from a start position ("" = the normal
// one). Every fourth position was not searched.
func AnyGame(t testing.TB, start string, ordinal uint64, plies int, rng *rand.Rand) *record.Game {
	t.Helper()
	g := &record.Game{ID: record.GameID(9, 1, ordinal), NetID: "job-s0-d0", Start: start, Seed: 9, Ordinal: ordinal, End: record.EndMaxPlies}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	for i := 0; ; i++ {
		var l chess.MoveList
		h.Board().GenerateMoves(&l)
		if h.Terminal(l.N) != chess.NotOver {
			return AnyGame(t, start, ordinal, plies, rng) // another line
		}
		if i == plies {
			break
		}
		m := l.Moves[rng.IntN(l.N)]
		p := record.Ply{Move: m, Root: encoding.UnknownQDM, Best: encoding.UnknownQDM, Played: encoding.UnknownQDM, Orig: encoding.UnknownQDM}
		if i%4 != 1 {
			v := encoding.QDM{Q: rng.Float32() - .5, D: rng.Float32() / 2, M: 100 * rng.Float32()}
			p = record.Ply{Move: m, Kind: record.PolicyCounts, Counts: make([]uint32, l.N), Visits: 101, Weight: 1, Root: v, Best: v, Played: v, Orig: v}
			p.Counts[rng.IntN(l.N)] = 100
		}
		g.Plies = append(g.Plies, p)
		h.Push(m)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

func ReadPGN(t testing.TB, text string) []*pgn.Game {
	t.Helper()
	var games []*pgn.Game
	if err := pgn.Read(strings.NewReader(text), pgn.ReadOptions{}, func(g *pgn.Game) error {
		games = append(games, g)
		return nil
	}); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return games
}

// Temps lists temporary files below dir.
func Temps(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (fsx.IsTemp(d.Name()) || strings.HasSuffix(path, ".tmp") || strings.Contains(path, ".owner.") || filepath.Base(filepath.Dir(path)) == "toexport") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func AnyGames(t testing.TB, n int) (games []*record.Game, seed uint64) {
	t.Helper()
	seed = rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	for i := range n {
		games = append(games, AnyGame(t, "", uint64(i), 8, rng))
	}
	return games, seed
}
