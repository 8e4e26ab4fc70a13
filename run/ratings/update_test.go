package ratings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
)

// templateDir is where the template lies once it is made.
var templateDir string

// template is a run with five nets, the gatekeeper's matches of three of them, and
// a list of published files.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ratings")
	if err != nil {
		return "", err
	}
	templateDir = dir
	root := filepath.Join(dir, "run")
	for i := range 3 {
		if _, err := putNet(root, "modelstobetested", fmt.Sprintf("job-main-s%d-d%d", 100*i, 10*i), uint64(i), int64(1000+i)); err != nil {
			return dir, err
		}
		if err := tested(root); err != nil {
			return dir, err
		}
	}
	_, err1 := putNet(root, "modelstobetested", "job-main-s300-d30", 3, 1003)
	_, err2 := putNet(root, "models_extra", "job-b-s5-d5", 9, 1500)
	list := `{"version": 1, "nets": [{"path": "models/x", "net_id": "ab", "exporter": "safetensors", "files": [{"path": "models/x.safetensors", "bytes": 17}]}]}`
	return dir, errors.Join(err1, err2, os.MkdirAll(filepath.Join(root, "train", "main"), 0o755),
		os.WriteFile(filepath.Join(root, "train", "main", "published.json"), []byte(list), 0o666))
})

// newRun returns a copy of the template, times included.
func newRun(t *testing.T) string {
	t.Helper()
	dir, err := template()
	if err != nil {
		t.Fatal(err)
	}
	from, root := filepath.Join(dir, "run"), filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(root, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(root, strings.TrimPrefix(path, from)), info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// tested lets the gatekeeper decide about the nets that wait: the games are drawn,
// and so many points are enough.
func tested(root string) error {
	file, err := config.Parse("test.textproto",
		fmt.Appendf(nil, "run_dir: %q job_id: \"job\" loop { gatekeeper { games: 4 visits: 2 opening_plies: 8 max_plies: 9 workers: 1 } }", root))
	if err != nil {
		return err
	}
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		return err
	}
	_, err = gate.Run(context.Background(), gate.Options{Effective: e, Once: true, Command: "test", Version: "test", Log: discard()})
	return err
}

// TestUpdate: all nets, matches and published files of a run are in its catalogue.
func TestUpdate(t *testing.T) {
	root := newRun(t)
	c := update(t, root, false)
	if len(c.Nets) != 5 || len(c.Matches) != 3 || len(c.Published) != 1 {
		t.Fatalf("%d nets, %d matches, %d published", len(c.Nets), len(c.Matches), len(c.Published))
	}
	first, second, waiting, extra := netOf(t, c, "job-main-s0-d0"), netOf(t, c, "job-main-s100-d10"), netOf(t, c, "job-main-s300-d30"), netOf(t, c, "job-b-s5-d5")
	if first.State != catalogue.Accepted || first.Path != "models/job-main-s0-d0.safetensors" || first.Arch != small().String() || first.Step != 7 || first.Samples != 100 ||
		first.Rows != 50 || first.Params < 100 || len(first.SHA256) != 64 || len(first.NetID) != 64 || first.Parent != "" || first.Modified.Unix() != 1000 {
		t.Errorf("the first net: %+v", first)
	}
	if g := second.Gate; g.Decision != catalogue.Accepted || g.Baseline != "job-main-s0-d0" || g.Points != 2 || g.Elo == nil || *g.Elo != 0 || second.Parent != first.Name {
		t.Errorf("the second net: %+v", second)
	}
	if waiting.State != catalogue.Candidate || waiting.Gate.Decision != "" || waiting.Parent != "job-main-s200-d20" || extra.State != catalogue.Extra || extra.Parent != "" {
		t.Errorf("nets that were not tested: %+v, %+v", waiting, extra)
	}
	m := c.Matches[1]
	if m.Path != "gatekeeper/job-main-s100-d10/match.jsonl" || m.Kind != catalogue.GateMatch || m.Player1 != second.Name || m.SHA1 != second.SHA256 || m.Player2 != first.Name ||
		m.Draws < 2 || m.Wins+m.Losses != 0 || m.Pairs[2] != m.Draws/2 || m.Plies != 9*int64(m.Draws) || !strings.HasPrefix(m.Settings, "visits=2") {
		t.Errorf("the second match: %+v", m)
	}
	if r, ok := c.Rating(gate.RandomNet); !ok || !r.Anchor || r.Kind != KindNet || len(c.Ratings) != 4 {
		t.Errorf("ratings: %+v", c.Ratings)
	}
	if p := c.Published[0]; p != (catalogue.Published{Training: "main", Path: "models/x.safetensors", NetID: "ab", Exporter: "safetensors", Bytes: 17}) {
		t.Errorf("published: %+v", p)
	}
	if last := c.Nets[4].Name; last != extra.Name {
		t.Errorf("the newest net is %s", last)
	}
}

// TestRebuild: the catalogue is the same whether it is brought up to date or made
// anew, and with the old one lost or damaged.
func TestRebuild(t *testing.T) {
	root := newRun(t)
	path := run.Dir{Root: root}.Catalogue()
	update(t, root, false)
	put(t, root, "models", "job-main-s400-d40", 4, 1004)
	putMatch(t, filepath.Join(root, "matches", "a__b.jsonl"), arena.LogPlayer{Name: "a"}, arena.LogPlayer{Name: "random"}, 4, 1)
	want := update(t, root, false)
	if r, ok := want.Rating(RandomMover); !ok || !r.Anchor {
		t.Errorf("a match against random moves: %+v", want.Ratings)
	}
	again := func(what string, got *catalogue.Catalogue) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	again("once more", update(t, root, false))
	again("rebuilt", update(t, root, true))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again("after it was lost", update(t, root, false))
	filetest.Write(t, path, "SQLite format 3\x00 and nothing else")
	again("after it was damaged", update(t, root, false))
}

// TestChanged: files that changed, moved or went are seen.
func TestChanged(t *testing.T) {
	root := newRun(t)
	before := netOf(t, update(t, root, false), "job-main-s200-d20")
	put(t, root, "models", before.Name, 77, 2000)
	if n := netOf(t, update(t, root, false), before.Name); n.SHA256 == before.SHA256 {
		t.Error("a net with another content has the old hash")
	}
	path := filepath.Join(root, "models", before.Name+".safetensors")
	if err := os.Rename(path, filepath.Join(root, "rejectedmodels", before.Name+".safetensors")); err != nil {
		t.Fatal(err)
	}
	if n := netOf(t, update(t, root, false), before.Name); n.State != catalogue.Rejected || n.Path != "rejectedmodels/"+before.Name+".safetensors" {
		t.Errorf("a net that was moved: %+v", n)
	}
	if err := os.Remove(filepath.Join(root, "models", "job-main-s0-d0.safetensors")); err != nil {
		t.Fatal(err)
	}
	c := update(t, root, false)
	if n := netOf(t, c, "job-main-s0-d0"); n.State != catalogue.Accepted || n.Path != "" || n.SHA256 == "" || n.Gate.Decision != catalogue.Accepted {
		t.Errorf("a net that is gone: %+v", n)
	}
	if _, ok := c.Rating("job-main-s0-d0"); !ok {
		t.Error("a net that is gone has lost its rating")
	}
}

// TestDamaged: what cannot be read does not hold up the rest.
func TestDamaged(t *testing.T) {
	root := newRun(t)
	write := func(path, text string) {
		t.Helper()
		filetest.Write(t, filepath.Join(root, path), text)
	}
	write("models/torn.safetensors", "xxxxxxxx")
	write("models/.hidden.safetensors", "xxxxxxxx")
	write("gatekeeper/job-main-s100-d10/result.json", "{")
	write("gatekeeper/job-main-s200-d20/match.jsonl", "garbage\n")
	write("train/main/published.json", "[")
	c := update(t, root, false)
	if n := netOf(t, c, "torn"); n.Problem == "" || n.SHA256 == "" || len(c.Nets) != 6 {
		t.Errorf("a torn net: %+v of %d", n, len(c.Nets))
	}
	if c.Matches[2].Problem == "" || c.Matches[1].Problem != "" || len(c.Published) != 0 {
		t.Errorf("matches: %+v", c.Matches)
	}
	if _, ok := c.Rating("job-main-s100-d10"); !ok {
		t.Error("the other matches do not count")
	}
	if got := update(t, root, false); !reflect.DeepEqual(got, c) {
		t.Errorf("the second look differs: %+v, want %+v", got, c)
	}
	if _, err := Update(t.Context(), filepath.Join(root, "nowhere"), UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "nowhere is not a run directory") {
		t.Errorf("no run: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Update(ended, root, UpdateOptions{}); err == nil {
		t.Error("a context that ended is not seen")
	}
}

// TestIdentity: a net is who it is by its hash, whatever a log calls it.
func TestIdentity(t *testing.T) {
	root := t.TempDir()
	put(t, root, "models", "a", 1, 1000)
	put(t, root, "models", "b", 2, 1001)
	c := update(t, root, false)
	a, b := netOf(t, c, "a").SHA256, netOf(t, c, "b").SHA256
	for i, m := range []struct {
		one, two arena.LogPlayer
	}{
		{arena.LogPlayer{Name: "a", SHA256: a}, arena.LogPlayer{Name: "b", SHA256: b}},
		{arena.LogPlayer{Name: "renamed", SHA256: b}, arena.LogPlayer{Name: "random", NetID: "1"}},
		{arena.LogPlayer{Name: "a", SHA256: "0123456789"}, arena.LogPlayer{Name: "b", SHA256: b}},
		{arena.LogPlayer{Name: "gone", SHA256: "77"}, arena.LogPlayer{Name: "random"}},
		{arena.LogPlayer{Name: "x", SHA256: a}, arena.LogPlayer{Name: "a", SHA256: a}}, // against itself
		{arena.LogPlayer{Name: "fish", Settings: "nodes=1"}, arena.LogPlayer{Name: "a", SHA256: a}},
	} {
		putMatch(t, filepath.Join(root, "matches", fmt.Sprintf("%d.jsonl", i)), m.one, m.two, 2, 0)
	}
	kinds := map[string]string{}
	for _, r := range update(t, root, false).Ratings {
		kinds[r.Name] = r.Kind
	}
	want := map[string]string{"a": KindNet, "b": KindNet, "random": KindNet, "a@01234567": KindNet, "gone": KindNet, RandomMover: KindMover, "fish": KindEngine}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("players %v, want %v", kinds, want)
	}
}

// TestAlarms: a fall against a frozen opponent is told, one against an opponent
// that changes is not.
func TestAlarms(t *testing.T) {
	net := func(name string) catalogue.Net {
		return catalogue.Net{Name: name, State: catalogue.Accepted, Path: name, SHA256: "sha-" + name, Modified: time.Unix(1, 0)}
	}
	match := func(a, b, sha string, pairs [5]int) catalogue.Match {
		return catalogue.Match{Kind: catalogue.RatingMatch, Player1: a, SHA1: "sha-" + a, Player2: b, SHA2: sha, Pairs: pairs}
	}
	won, lost := [5]int{4: 40}, [5]int{0: 40}
	c := &catalogue.Catalogue{Nets: []catalogue.Net{net("n1"), net("n2"), net("n3")}, Matches: []catalogue.Match{
		match("n1", RandomMover, "", won), match("n2", RandomMover, "", won), match("n3", RandomMover, "", lost),
		match("n2", "n1", "sha-n1", won), match("n3", "n1", "sha-n1", won), match("n3", "n2", "sha-n2", lost),
		match("n2", "fish", "", won), match("n3", "fish", "", lost),
	}}
	got := Alarms(c)
	if len(got) != 2 || got[0].Code != alarms.CodeEloFall || !strings.Contains(got[0].Message, "n3 has all or no points") ||
		!strings.Contains(got[0].Message, "against random-mover, n1 had") || !strings.Contains(got[1].Message, "fish") {
		t.Errorf("%+v", got)
	}
	other := match("n3", RandomMover, "", lost) // with fewer visits: another yardstick
	other.Settings = "visits=1"
	c.Matches[2].Pairs, c.Matches[7].Pairs = won, won
	c.Matches = append(c.Matches, other)
	if got := Alarms(c); len(got) != 0 {
		t.Errorf("nets that stay strong: %+v", got)
	}
	c.Matches = append(c.Matches, match("n3", RandomMover, "", [5]int{0: 400})) // one more match of the same net
	if got := Alarms(c); len(got) != 1 || !strings.Contains(got[0].Message, "against random-mover") {
		t.Errorf("two matches of a net: %+v", got)
	}
	c.Nets = append(c.Nets, net("n4"))
	c.Matches = append(c.Matches, match("n4", "fish", "", won))
	if got := Alarms(c); len(got) != 0 {
		t.Errorf("a fall of a net that is not the newest any more: %+v", got)
	}
}
