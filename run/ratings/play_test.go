package ratings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/ladder"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

// matchNames lists the logs in matches/, without their suffix.
func matchNames(t *testing.T, root string) (names []string) {
	t.Helper()
	entries, err := fsx.Entries(fsx.OS, run.Dir{Root: root}.Matches())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), logSuffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestPlay: each accepted net plays those before it, the first net and random
// moves, once; then there is nothing to do.
func TestPlay(t *testing.T) {
	root := t.TempDir()
	for i, name := range []string{"n1", "n2", "n3"} {
		put(t, root, "models", name, uint64(i), int64(1000+i))
	}
	put(t, root, "rejectedmodels", "r", 8, 1010)
	opt := options(t, root, "opponents: 1")
	s := play(t, opt)
	want := []string{"n1__random-mover", "n2__n1", "n2__random-mover", "n3__n1", "n3__n2", "n3__random-mover"}
	if got := matchNames(t, root); !slices.Equal(got, want) || s.Matches != len(want) || s.Games != 2*len(want) {
		t.Errorf("%d matches, %d games: %v, want %v", s.Matches, s.Games, got, want)
	}
	if len(s.Catalogue.Ratings) != 4 || len(s.Catalogue.Nets) != 4 {
		t.Errorf("ratings %+v", s.Catalogue.Ratings)
	}
	for _, r := range s.Catalogue.Ratings {
		if (r.Name == RandomMover) != r.Anchor || (r.Error == 0) != r.Anchor {
			t.Errorf("%+v", r)
		}
	}
	pgn, err := os.ReadFile(filepath.Join(root, "matches", "n3__random-mover.pgn"))
	if err != nil || bytes.Count(pgn, []byte("[Event ")) != 2 || !bytes.Contains(pgn, []byte(`"random-mover"`)) {
		t.Errorf("PGN: %s, %v", pgn, err)
	}
	if s := play(t, opt); s.Matches != 0 || s.Games != 0 || s.Catalogue == nil {
		t.Errorf("a second time: %+v", s)
	}
	if s := play(t, options(t, root, "opponents: 1 games: 4")); s.Games != 2*len(want) {
		t.Errorf("two more games of each match: %+v", s)
	}
	if s := play(t, options(t, root, "opponents: 1 games: 2")); s.Games != 0 {
		t.Errorf("fewer games: %+v", s)
	}
	if s := play(t, options(t, root, "games: 0")); s.Games != 0 || len(s.Catalogue.Matches) != len(want) {
		t.Errorf("no games: %+v", s)
	}
	put(t, root, "models", "n4", 5, 1005)
	if s := play(t, options(t, root, "opponents: 1 first: false random: false")); s.Matches != 1 || !slices.Contains(matchNames(t, root), "n4__n3") {
		t.Errorf("a new net: %+v, %v", s, matchNames(t, root))
	}
}

// TestInterrupted: what is finished is kept, and the games come out as if nothing
// had happened.
func TestInterrupted(t *testing.T) {
	undisturbed, root := t.TempDir(), t.TempDir()
	for _, dir := range []string{undisturbed, root} {
		put(t, dir, "models", "n1", 1, 1000)
		put(t, dir, "models", "n2", 2, 1001)
	}
	const rating = "games: 6 random: false"
	play(t, options(t, undisturbed, rating))
	path := filepath.Join("matches", "n2__n1.jsonl")
	_, want, err := arena.ReadLog(fsx.OS, filepath.Join(undisturbed, path))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	opt := options(t, root, rating)
	opt.Log = slog.New(stopAt{slog.DiscardHandler, "rating match", stop})
	s, err := Play(ctx, opt)
	if !errors.Is(err, run.ErrInterrupted) || s == nil || s.Catalogue == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	cut(t, filepath.Join(undisturbed, path), filepath.Join(root, path), 3)
	if s := play(t, options(t, root, rating)); s.Games != 4 || s.Matches != 1 {
		t.Errorf("after the stop: %+v", s)
	}
	if _, got, err := arena.ReadLog(fsx.OS, filepath.Join(root, path)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d games, %v, want %d", len(got), err, len(want))
	}
	if err := os.Remove(filepath.Join(root, "matches", "n2__n1.pgn")); err != nil { // a kill after the last game
		t.Fatal(err)
	}
	play(t, options(t, root, rating))
	if _, err := os.Stat(filepath.Join(root, "matches", "n2__n1.pgn")); err != nil {
		t.Error(err)
	}
}

// TestFewerGames: a match of which the configuration now asks fewer games than were
// begun is played up to the newest finished one.
func TestFewerGames(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "n1", 1, 1000)
	put(t, root, "models", "n2", 2, 1001)
	play(t, options(t, root, "games: 6 random: false"))
	path := filepath.Join(root, "matches", "n2__n1.jsonl")
	data := filetest.Read(t, path)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, kept := range []int{2, 4} { // of the games in the order in which they finished, the last ones
		log := append(slices.Clone(lines[0]), bytes.Join(lines[7-kept:7], nil)...)
		if err := errors.Join(os.WriteFile(path, log, 0o666), os.Remove(filepath.Join(root, "matches", "n2__n1.pgn"))); err != nil {
			t.Fatal(err)
		}
		if s := play(t, options(t, root, "games: 2 random: false")); s.Matches != 1 {
			t.Errorf("%d: %+v", i, s)
		}
		if _, err := os.Stat(filepath.Join(root, "matches", "n2__n1.pgn")); err != nil {
			t.Error(err)
		}
	}
}

// TestPoll: a rater that waits sees new nets, until it is stopped.
func TestPoll(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "n1", 1, 1000)
	opt := options(t, root, "first: false opponents: 0")
	opt.Poll = time.Millisecond
	matches := 0
	opt.Log = slog.New(stopAt{slog.DiscardHandler, "rating match played", func() {
		if matches++; matches == 1 {
			put(t, root, "models", "n2", 2, 1001)
			return
		}
		if page := tell(t, root, "status"); page.State != "playing" || page.Player1 != "n2" || page.Finished != 2 || page.Of != 2 || page.Games != 4 {
			t.Errorf("status: %+v", page)
		}
		tell(t, root, "stop")
	}})
	s, err := Play(t.Context(), opt)
	if !errors.Is(err, run.ErrInterrupted) || s.Matches != 2 || len(s.Catalogue.Ratings) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if got := matchNames(t, root); !slices.Equal(got, []string{"n1__random-mover", "n2__random-mover"}) {
		t.Error(got)
	}
}

// tell sends a command to the rater's control socket and returns its page.
func tell(t *testing.T, root, command string) (page Page) {
	t.Helper()
	owners, err := fsx.Owners(run.Dir{Root: root}.Lock(run.Rater))
	if err != nil || len(owners) != 1 {
		t.Fatalf("owners of the lock: %v, %v", owners, err)
	}
	err = run.Send(t.Context(), owners[0].Socket, run.Message{Type: command}, func(m run.Message) error {
		if command != "status" {
			return nil
		}
		return json.Unmarshal(m.Payload, &page)
	})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// stopAt calls stop at a message of the log.
type stopAt struct {
	slog.Handler
	message string
	stop    func()
}

func (h stopAt) Enabled(context.Context, slog.Level) bool { return true }

func (h stopAt) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.stop()
	}
	return nil
}

// cut copies the first lines of a log and half of the next one, as a kill leaves
// them.
func cut(t *testing.T, from, to string, lines int) {
	t.Helper()
	data := filetest.Read(t, from)
	parts := bytes.SplitAfter(data, []byte("\n"))
	text := append(bytes.Join(parts[:lines], nil), parts[lines][:len(parts[lines])/2]...)
	filetest.Write(t, to, text)
}

// TestOtherMatch: a match of other settings or nets is put aside and counts on.
func TestOtherMatch(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "n1", 1, 1000)
	put(t, root, "models", "n2", 2, 1001)
	play(t, options(t, root, "random: false"))
	s := play(t, options(t, root, "random: false visits: 3"))
	if got := matchNames(t, root); s.Matches != 1 || !slices.Equal(got, []string{"n2__n1", "n2__n1.1"}) {
		t.Errorf("other settings: %v, %+v", got, s)
	}
	if r, _ := s.Catalogue.Rating("n1"); r.Games != 4 {
		t.Errorf("%+v", r)
	}
	put(t, root, "models", "n2", 3, 1002)
	s = play(t, options(t, root, "random: false visits: 3"))
	if got := matchNames(t, root); !slices.Equal(got, []string{"n2__n1", "n2__n1.1", "n2__n1.2"}) {
		t.Errorf("another net: %v", got)
	}
	if len(s.Catalogue.Ratings) != 3 {
		t.Errorf("%+v", s.Catalogue.Ratings)
	}
}

// TestEngines: an engine plays at each number of nodes and each skill; one that
// lacks an option, or that is not there, is left out with a warning.
func TestEngines(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "n1", 1, 1000)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rating := "random: false engine_nodes: 10 engine_nodes: 20 engine_skill: 3 engine: \"" + self + "\""
	t.Setenv(engineMode, "full")
	play(t, options(t, root, rating))
	want := []string{"n1__fake-engine-1.0-test-n10", "n1__fake-engine-1.0-test-n10-skill3", "n1__fake-engine-1.0-test-n20"}
	if got := matchNames(t, root); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	c := update(t, root, true)
	if r, ok := c.Rating("fake-engine-1.0-test-n10-skill3"); !ok || r.Kind != KindEngine || !strings.Contains(c.Matches[0].Settings, "Skill Level=3") {
		t.Errorf("%+v, %+v", r, c.Matches[0])
	}
	for mode, change := range map[string]func(string) string{
		"plain": func(s string) string { return s },
		"full":  func(s string) string { return strings.ReplaceAll(s, self, filepath.Join(root, "nowhere")) },
	} {
		t.Setenv(engineMode, mode)
		var said bytes.Buffer
		opt := options(t, root, change(rating))
		opt.Log = slog.New(slog.NewTextHandler(&said, nil))
		if s := play(t, opt); s.Games != 0 || !strings.Contains(said.String(), "an engine is left out") {
			t.Errorf("%s: %+v, %s", mode, s, &said)
		}
	}
}

// TestRefused: configurations that cannot work, and a second rater.
func TestRefused(t *testing.T) {
	root := t.TempDir()
	for rating, want := range map[string]string{
		"games: 3":                            "loop.rating.games",
		"games: 0 engine: \"x\" opponents: 0": "",
	} {
		_, err := Play(t.Context(), options(t, root, rating))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", rating, err)
		}
	}
	lock, err := fsx.Acquire(run.Dir{Root: root}.Lock(run.Rater), fsx.LockOptions{Command: "another rater"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := Play(t.Context(), options(t, root, "")); !strings.Contains(err.Error(), "another rater") {
		t.Errorf("a second rater: %v", err)
	}
}

// TestTable shows who is in the list and what its figures rest on.
func TestTable(t *testing.T) {
	c := &catalogue.Catalogue{
		Nets: []catalogue.Net{{Name: "n1", State: catalogue.Accepted, Samples: 5, Path: "models/n1.safetensors"}, {Name: "n2", State: catalogue.Rejected},
			{Name: "n3", State: catalogue.Candidate, Path: "x", Problem: "torn"}},
		Matches: make([]catalogue.Match, 2),
		Ratings: []catalogue.Rating{{Name: "n1", Kind: KindNet, Elo: 120.4, Error: 10, Games: 10, Points: 7.5, Draws: 5}, {Name: "z", Elo: math.Copysign(0.3, -1), Anchor: true, Games: 8, Prior: true},
			{Name: "n2", Group: 1, Elo: -3, Error: 20, Games: 4, Points: 2}, {Name: "random", Group: 1, Elo: -9, Games: 1, Anchor: true}},
	}
	var out bytes.Buffer
	if err := NewRated(c, nil).Write(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"1 +120 20 10 75.0 % 50 % 5 n1, accepted", "2 +0* 0 8", "z, zero of the list", "(no game connects those below", "3 -3 39 4 50.0 % 0 % 0 n2, rejected, its file is gone",
		"random weights, zero of the list", "0 0 n3, candidate: torn", "3 nets, 2 matches", "* at least so far"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	out.Reset()
	if err := NewRated(&catalogue.Catalogue{}, nil).Write(&out); err != nil || out.String() != "there are no nets and no matches yet\n" {
		t.Errorf("%s, %v", &out, err)
	}
}

// TestLadder: the newest accepted net climbs the ladder once for each number of visits, also
// where no matches are played and there is no engine; a damaged answer is made anew of the
// games beside it.
func TestLadder(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "n1", 1, 1000)
	put(t, root, "models", "n2", 2, 1001)
	const rating = "games: 0 ladder_games: 2 engine: '/no/such/engine' visits: "
	path := filepath.Join(run.LadderOf(root, "n2"), run.LadderName)
	climb := func(visits string, climbs int) *ladder.Result {
		t.Helper()
		play(t, options(t, root, rating+visits))
		r, err := readLadder(path)
		if err != nil || r.Net != "n2" || len(r.Climbs) != climbs || r.Climbs[climbs-1].Games < 2 || r.Climbs[climbs-1].Limit.String() != visits+" visits" {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	first := climb("2", 1)
	climb("3", 2)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	climb("3", 2)
	if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it was written again: %v", err)
	}
	filetest.Write(t, path, "{")
	if again := climb("2", 1); !reflect.DeepEqual(again.Climbs[0].Rungs, first.Climbs[0].Rungs) {
		t.Errorf("%+v, before %+v", again.Climbs[0], first.Climbs[0])
	}
	if _, err := os.Stat(run.LadderOf(root, "n1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an older net climbed: %v", err)
	}
}
