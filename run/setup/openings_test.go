package setup

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/selfplay"
)

// TestOpeningsFile: a PGN gives lines of moves, another file positions; what is
// illegal is named with its file, line and move.
func TestOpeningsFile(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		filetest.Write(t, dir+"/"+name, text)
		return dir + "/" + name
	}
	games := put("book.PGN", "[Event \"a\"]\n\n1. e4 c5 2. Nf3 *\n\n[Event \"b\"]\n\n1. d4 *\n")
	starts, err := arena.ReadOpenings(games, 0)
	if err != nil || len(starts) != 2 || len(starts[0].Moves) != 3 || len(starts[1].Moves) != 1 {
		t.Errorf("%v: %+v", err, starts)
	}
	c := config.Defaults()
	o := c.Selfplay.Openings
	o.File = &games
	o.PolicyPlies, o.Mirrored = ptr(int32(3)), ptr(true)
	o.StopProbability, o.PolicyTemperature = ptr(0.25), ptr(0.5)
	all, err := openingsOf(o)
	if err != nil || len(all.Starts) != 2 || all.PolicyPlies != 3 || !all.Mirrored || all.StopProbability != 0.25 || all.PolicyTemperature != 0.5 {
		t.Errorf("%v: %+v", err, all)
	}
	for _, c := range []struct{ file, want string }{
		{put("bad.pgn", "[Event \"a\"]\n\n1. e4 c5\n2. Ke3 *\n"), "Ke3"},
		{put("empty.pgn", ""), "no game"},
		{put("bad.epd", "8/8/8/8/8/8/8/8 w - -\n"), "line 1"},
		{put("mate.pgn", "[Event \"a\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n"), "the game is over"},
		{dir + "/none.pgn", "no such file"},
	} {
		o.File = &c.file
		_, err := openingsOf(o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "selfplay.openings") {
			t.Errorf("%s: %v, want %s", c.file, err, c.want)
		}
	}
}

// TestCourseWithoutStarts: a course needs start positions, different ones.
func TestCourseWithoutStarts(t *testing.T) {
	o := config.Defaults().Selfplay.Openings
	o.Order = ptr(config.Openings_MASTERY)
	if _, err := openingsOf(o); err == nil || !strings.Contains(err.Error(), "selfplay.openings.order") || !strings.Contains(err.Error(), "--openings") {
		t.Errorf("no positions: %v", err)
	}
	position := &config.Openings_Position{Fen: ptr("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), Weight: ptr(1.0)}
	o.Positions = []*config.Openings_Position{position}
	if all, err := openingsOf(o); err != nil || all.Order != selfplay.OrderMastery || all.Mastery != 0.5 {
		t.Errorf("one position: %v, %+v", err, all)
	}
	o.Positions = append(o.Positions, position)
	if _, err := openingsOf(o); err == nil || !strings.Contains(err.Error(), "starts 1 and 2") {
		t.Errorf("the same position twice: %v", err)
	}
}

func ptr[T any](v T) *T { return &v }
