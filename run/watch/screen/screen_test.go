package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/watch"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// recorded is what a run of recipe speedrun answered after 300 000 games (testdata/run.json).
type recorded struct {
	StatusPage cycle.Status     `json:"status"`
	Under      []record.View    `json:"playing"`
	Ended      []watch.Finished `json:"finished"`
	Metrics    watch.Learning   `json:"learning"`
	Thought    watch.Thought    `json:"thought"`
	NetNames   []string         `json:"nets"`

	asked []watch.Question
	given []watch.Order
}

func (r *recorded) Status() (*cycle.Status, error)      { return &r.StatusPage, nil }
func (r *recorded) Playing() ([]record.View, error)     { return r.Under, nil }
func (r *recorded) Finished() ([]watch.Finished, error) { return r.Ended, nil }
func (r *recorded) Nets() []string                      { return r.NetNames }

func (r *recorded) Learning(training string) (*watch.Learning, error) {
	if training != "" {
		r.Metrics.Training = training
	}
	return &r.Metrics, nil
}

func (r *recorded) Think(_ context.Context, q watch.Question) (*watch.Thought, error) {
	r.asked = append(r.asked, q)
	if strings.Contains(q.Position, "nonsense") {
		return nil, errors.New("nonsense is no position")
	}
	return &r.Thought, nil
}

func (r *recorded) Give(_ context.Context, o watch.Order) (string, error) {
	r.given = append(r.given, o)
	if o.Command == "start-training-now" {
		return "", errors.New("only a trainer has start-training-now")
	}
	return "done: " + o.Command, nil
}

func open(t *testing.T) *recorded {
	t.Helper()
	data := filetest.Read(t, "testdata/run.json")
	r := &recorded{}
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// press types keys, with the work of each one done at once. Text between blanks is one key or,
// where it is none, characters.
func press(t *testing.T, s *Screen, keys string) {
	t.Helper()
	named := map[string]bool{}
	for _, k := range sequences {
		named[string(k)] = true
	}
	for _, word := range strings.Split(keys, " ") {
		all := []Key{Key(word)}
		if !named[word] {
			all = nil
			for _, char := range word {
				all = append(all, Key(char))
			}
		}
		for _, k := range all {
			work, quit := s.Key(k)
			if quit {
				t.Fatalf("%q ended the screen", k)
			}
			if work != nil {
				work(t.Context())()
			}
		}
	}
}

// TestGolden draws each page of a real run in two sizes as it was looked at and found good.
// Colors change no character but the men on boards.
func TestGolden(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		for _, c := range []struct{ name, keys string }{
			{"overview", "1"},
			{"games", "2 down down down down down"},
			{"game", "2 end enter left left left"},
			{"search", "3 enter down"},
			{"learning", "4"},
			{"processes", "5"},
		} {
			r := open(t)
			s, colored := NewScreen(r, "runs/speedrun", false), NewScreen(r, "runs/speedrun", true)
			for _, s := range []*Screen{s, colored} {
				s.Look()(t.Context())()
				press(t, s, c.keys)
			}
			got := strings.Join(s.Draw(size[0], size[1]), "\n") + "\n"
			path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", c.name, size[0], size[1]))
			if *update {
				filetest.Write(t, path, got)
			}
			want := filetest.Read(t, path)
			if got != string(want) {
				t.Errorf("%s is not %s:\n%s", c.name, path, got)
			}
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(lines) != size[1] {
				t.Errorf("%s: %d lines", path, len(lines))
			}
			for i, line := range colored.Draw(size[0], size[1]) {
				if !strings.ContainsAny(line, "♚♛♜♝♞♟") && !strings.Contains(line, string(dark)) && strings.TrimRight(codes.ReplaceAllString(line, ""), " ") != lines[i] {
					t.Errorf("%s: line %d with colors is\n%q, without\n%q", path, i, line, lines[i])
				}
				if n := len([]rune(codes.ReplaceAllString(line, ""))); n > size[0] {
					t.Errorf("%s: line %d has %d columns", path, i, n)
				}
			}
		}
	}
}

// TestSizes draws all pages in sizes from one character to a wall; too small ones say so.
func TestSizes(t *testing.T) {
	s := NewScreen(open(t), "runs/speedrun", true)
	for _, keys := range []string{"1", "2", "2 end enter", "3 enter", "4 end", "5"} {
		press(t, s, keys)
		for _, size := range [][2]int{{0, 0}, {1, 1}, {39, 24}, {40, 12}, {41, 13}, {80, 11}, {500, 200}} {
			text := strings.Join(s.Draw(size[0], size[1]), "\n")
			if small := size[0] < minColumns || size[1] < minLines; small != !strings.Contains(text, "5 Proc") {
				t.Errorf("%s at %v: %s", keys, size, text)
			}
		}
	}
	if text := strings.Join(s.Draw(39, 10), "\n"); !strings.Contains(text, "40x12 are needed") {
		t.Errorf("%s", text)
	}
}

// TestTrainings: of a run with several trainings the page of curves names each, and keys go
// from one to the next.
func TestTrainings(t *testing.T) {
	r := open(t)
	r.Metrics.Training, r.Metrics.Trainings = "main", []string{"main", "wide"}
	s := NewScreen(r, "run", false)
	if press(t, s, "4"); s.training != "" || !strings.HasPrefix(s.Draw(80, 24)[1], "trainings  main  wide") {
		t.Errorf("%q:\n%s", s.training, strings.Join(s.Draw(80, 24), "\n"))
	}
	if press(t, s, "right right"); s.training != "wide" || r.Metrics.Training != "wide" {
		t.Errorf("right leads to %q", s.training)
	}
	if press(t, s, "left left"); s.training != "main" {
		t.Errorf("left leads to %q", s.training)
	}
	if last := s.Draw(80, 24)[23]; !strings.Contains(last, "left, right training") {
		t.Errorf("the keys are not named: %s", last)
	}
}

// TestText writes the first page for an output that is no terminal, and what is wrong with a
// run that cannot be read.
func TestText(t *testing.T) {
	r := open(t)
	text := Text(r, 160, 50)
	if !strings.HasPrefix(text, "run ") || !strings.Contains(text, "of 420000 games") || strings.Count(text, "ply ") != len(r.Under) || strings.Contains(text, "quit") {
		t.Error(text)
	}
	if text := Text(broken{r}, 160, 50); !strings.Contains(text, "no such run") {
		t.Error(text)
	}
}

// broken is a run that is gone.
type broken struct{ *recorded }

func (broken) Status() (*cycle.Status, error) { return nil, errors.New("no such run") }

// TestSearch asks about positions: of a game, after moves, one that is typed.
func TestSearch(t *testing.T) {
	r := open(t)
	s := NewScreen(r, "run", false)
	press(t, s, "2"+strings.Repeat(" down", len(r.Under))+" enter home right right s")
	s.Look()(t.Context())()
	game := r.Ended[0]
	first := "fen " + game.Start + " moves " + game.Moves[0] + " " + game.Moves[1]
	press(t, s, "down enter backspace backspace backspace + n")
	press(t, s, "fstartpos")
	if last := s.Draw(80, 24)[23]; last != "FEN, or startpos: startpos_ (enter: take it, esc: leave it)" {
		t.Error(last)
	}
	press(t, s, "enter fnonsense enter")
	second := r.Thought.Moves[1].Move
	want := []watch.Question{
		{Position: first, Visits: 400},
		{Position: first + " " + second, Visits: 400},
		{Position: first, Visits: 400},
		{Position: "fen " + game.Start + " moves " + game.Moves[0], Visits: 400},
		{Position: "fen " + game.Start, Visits: 400},
		{Position: "fen " + game.Start, Visits: 1600},
		{Position: "fen " + game.Start, Visits: 1600, Net: r.NetNames[1]},
		{Position: "startpos", Visits: 1600, Net: r.NetNames[1]},
		{Position: "fen nonsense", Visits: 1600, Net: r.NetNames[1]},
	}
	if fmt.Sprint(r.asked) != fmt.Sprint(want) {
		t.Errorf("asked\n%v, want\n%v", r.asked, want)
	}
	if text := strings.Join(s.Draw(80, 24), "\n"); !strings.Contains(text, "nonsense is no position") {
		t.Error(text)
	}
	s.said = "Search without a net: " + strings.Repeat("many words, ", 5) + "at the end."
	if lines := s.Draw(80, 24); !strings.HasPrefix(lines[22], "Search without a net: ") || !strings.HasSuffix(lines[23], "at the end.") {
		t.Errorf("the end is cut: %q", lines[22:])
	}
}

// TestOrders gives orders: only after a y, and with what is wrong said.
func TestOrders(t *testing.T) {
	r := open(t)
	s := NewScreen(r, "run", false)
	s.Look()(t.Context())()
	said := func(want string) {
		t.Helper()
		lines := s.Draw(120, 24)
		if last := lines[len(lines)-1]; !strings.Contains(last, want) {
			t.Errorf("said %q, want %q", last, want)
		}
	}
	press(t, s, "5 x")
	said("finish the current step")
	if text := strings.Join(s.Draw(40, 24), " "); !strings.Contains(text, "trainer-main: finish the current step,") || !strings.Contains(text, "any other key:") {
		t.Errorf("the question is cut: %s", text)
	}
	for _, no := range []string{"n", "q", "enter", "escape", "5", "x"} {
		if press(t, s, no+" x"); len(r.given) != 0 || s.page != processes {
			t.Errorf("%q: given %v", no, r.given)
		}
		said("any other key: no")
	}
	press(t, s, "n cy")
	said("done: checkpoint-now")
	press(t, s, "ty")
	said("only a trainer")
	for text, want := range map[string]string{"sampler": "the name of a stage", "door open": "want rescorer", "sampler x y": "want STAGE.SETTING=VALUE", "sampler x,y": "want one name"} {
		s.Key("w")
		for _, char := range text {
			s.Key(Key(char))
		}
		s.Key(Enter)
		said(want)
	}
	s.Key("d")
	for _, char := range "rescorer deblunder,minX" {
		s.Key(Key(char))
	}
	press(t, s, "backspace e")
	for _, char := range " mine.threshold=0.2" {
		s.Key(Key(char))
	}
	press(t, s, "enter")
	if len(r.given) != 3 {
		t.Fatalf("given %v", r.given)
	}
	swap := r.given[2].Swap
	if r.given[0].Role != "trainer-main" || !swap.DryRun || swap.Kind != "rescorer" || len(swap.Stages) != 2 || swap.Stages[1].Name != "mine" || len(swap.Stages[0].Settings) != 0 || swap.Stages[1].Settings["threshold"] != "0.2" {
		t.Errorf("given %+v", r.given)
	}
}

// TestLive follows games: the chosen one stays chosen while others end, and a game that is
// looked at goes on.
func TestLive(t *testing.T) {
	r := open(t)
	s := NewScreen(r, "run", false)
	press(t, s, "2 end")
	id := r.Ended[len(r.Ended)-1].ID
	r.Under, r.Ended = r.Under[:2], r.Ended[1:]
	s.Look()(t.Context())()
	if got := s.seen.finished[s.chosen-len(s.seen.playing)].ID; got != id {
		t.Errorf("chosen is %s, was %s", got, id)
	}
	longer := r.Under[0]
	live := longer
	longer.Moves, live.Moves = longer.Moves[:11], live.Moves[:10]
	r.Under = []record.View{live}
	s.Look()(t.Context())()
	press(t, s, "home enter")
	r.Under = []record.View{longer}
	s.Look()(t.Context())()
	if s.ply != 11 || len(s.opened.Moves) != 11 {
		t.Errorf("the open game is at ply %d of %d", s.ply, len(s.opened.Moves))
	}
	press(t, s, "left left")
	r.Under = []record.View{live}
	s.Look()(t.Context())()
	if s.ply != 9 {
		t.Errorf("a reader at ply 9 was moved to %d", s.ply)
	}
}

// TestOver: the board of a game that has just ended says so.
func TestOver(t *testing.T) {
	r := open(t)
	r.Under = append(r.Under[:1], r.Ended[0].View)
	s := NewScreen(r, "run", false)
	for _, keys := range []string{"1", "2"} {
		press(t, s, keys)
		want := fmt.Sprintf("game %d over", r.Ended[0].Game%1e6)
		if text := strings.Join(s.Draw(80, 40), "\n"); strings.Count(text, " over") != 1 || !strings.Contains(text, want) || !strings.Contains(text, r.Ended[0].Result+" "+r.Ended[0].End) {
			t.Errorf("page %s does not say %q:\n%s", keys, want, text)
		}
	}
}

// TestKeysOf splits what terminals send, also where a key arrives in two parts.
func TestKeysOf(t *testing.T) {
	for text, want := range map[string]string{
		"a": `["a"] ""`, "\x1b[A\x1b[Bq": `["up" "down" "q"] ""`, "\x1b[1~\x1bOF": `["home" "end"] ""`,
		"é\r": `["é" "enter"] ""`, "\x1b[99;5u1": `["1"] ""`, "\x1b[3~2": `["2"] ""`, "\x03": `["interrupt"] ""`, "\x01": `[] ""`,
		"ab\x7f": `["a" "b" "backspace"] ""`, "\x1bq": `["escape" "q"] ""`,
		"x\x1b": `["x"] "\x1b"`, "x\x1b[1": `["x"] "\x1b[1"`, "\xc3": `[] "\xc3"`,
	} {
		if keys, rest := keysOf(text, false); fmt.Sprintf("%q %q", keys, rest) != want {
			t.Errorf("%q: keys %q, rest %q, want %s", text, keys, rest, want)
		}
	}
	if keys, rest := keysOf("\x1b", true); fmt.Sprint(keys) != "[escape]" || rest != "" {
		t.Errorf("the escape key: %q, %q", keys, rest)
	}
}

// TestReadKeys joins the parts of a key, takes one that nothing follows as it is, and ends with
// its input.
func TestReadKeys(t *testing.T) {
	for _, c := range []struct {
		wait  time.Duration
		parts []string
		want  string
	}{
		{time.Hour, []string{"\x1b", "[", "A", "q\xc3", "\xa9"}, `["up" "q" "é"]`},
		{time.Hour, []string{"a\x1b"}, `["a" "escape"]`}, // the input ends behind it
		{time.Nanosecond, []string{"\x1b"}, `["escape"]`},
	} {
		in, typed := io.Pipe()
		keys := make(chan Key)
		go readKeys(t.Context(), in, c.wait, keys)
		go func() {
			for _, part := range c.parts {
				typed.Write([]byte(part))
			}
			if c.wait == time.Hour {
				typed.Close()
			}
		}()
		var got []Key
		for k := range keys {
			if got = append(got, k); c.wait != time.Hour {
				typed.Close()
			}
		}
		if fmt.Sprintf("%q", got) != c.want {
			t.Errorf("%q: %q, want %s", c.parts, got, c.want)
		}
	}
}

// TestNumber writes numbers in eight characters at most.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.5", 12.34: "12.3", 999.4: "999", 999.6: "1.00k", 2719: "2.72k", 12345: "12.3k", 312345: "312k", 999999: "1.00M",
		3.2e6: "3.20M", 5e9: "5.00G", -0.000123: "-1.2e-04", 0.000598: "6.0e-04", -1500: "-1.50k",
	} {
		if got := number(v); got != want || len(got) > 8 {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestLoop draws until a key or the context ends it. While the run takes its time to answer,
// keys work, one look at a time is under way, and answers for a page that was left, or to a
// question that was followed by another, come too late.
func TestLoop(t *testing.T) {
	size := func() (int, int) { return 80, 24 }
	r := &slow{recorded: open(t), answer: make(chan bool), asked: make(chan watch.Question)}
	s := NewScreen(r, "run", false)
	keys := make(chan Key)
	ended := make(chan error)
	var out bytes.Buffer
	go func() { ended <- s.loop(t.Context(), keys, size, &out) }()
	press := func(all ...Key) {
		t.Helper()
		for _, k := range all {
			select {
			case keys <- k:
			case <-time.After(30 * time.Second):
				t.Fatalf("%q was not taken", k)
			}
		}
	}
	press("3", "+")
	first := <-r.asked
	press("+")
	second := <-r.asked
	if first.Visits != 1600 || second.Visits != 6400 {
		t.Errorf("asked %v, %v", first, second)
	}
	press("2", "4", "x")
	close(r.answer)
	press("5", "x", Interrupt)
	if err := <-ended; err != nil || !strings.Contains(out.String(), "searching ...") {
		t.Errorf("%v: %s", err, out.String())
	}
	if s.page != processes || s.seen.learning != nil || s.seen.finished != nil {
		t.Errorf("page %d took the answer for another", s.page)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- NewScreen(open(t), "run", false).loop(ctx, nil, size, &out) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	closed := make(chan Key)
	close(closed)
	if err := NewScreen(open(t), "run", false).loop(t.Context(), closed, size, &out); err != nil {
		t.Error(err)
	}
}

// slow is a run that answers once answer is closed; a search that is left ends with its context.
type slow struct {
	*recorded
	answer chan bool
	asked  chan watch.Question
}

func (s *slow) Status() (*cycle.Status, error) {
	<-s.answer
	return s.recorded.Status()
}

func (s *slow) Think(ctx context.Context, q watch.Question) (*watch.Thought, error) {
	s.asked <- q
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPanic: a fault of the work beside the screen ends it where the terminal is given back.
func TestPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic in the screen's own goroutine")
		}
	}()
	s := NewScreen(nil, "run", false) // which nothing can be asked of
	t.Error(s.loop(t.Context(), nil, func() (int, int) { return 80, 24 }, io.Discard))
}

// TestHostile: names and messages move no cursor.
func TestHostile(t *testing.T) {
	r := open(t)
	r.StatusPage.Processes[0].Command = "train\x1b[2J\n"
	s := NewScreen(r, "run\x1b]0;title\a", true)
	press(t, s, "5")
	s.said = "two\nlines"
	text := strings.Join(s.Draw(80, 24), "")
	if strings.ContainsAny(text, "\n\a") || strings.Contains(text, "\x1b[2J") || !strings.Contains(text, "two lines") {
		t.Errorf("%q", text)
	}
}

// TestWrapped: what is too long for its row goes on below the text, also where the label
// is two words, and where the text has two blanks.
func TestWrapped(t *testing.T) {
	for row, want := range map[string]string{
		"last gate  a-main-s64-d500 was accepted":     "last gate  a-main-s64-d500 was|           accepted",
		"net        one of many that play  by itself": "net        one of many that|           play  by itself",
		"           below the row that it belongs to": "           below the row that|           it belongs to",
		"a sentence that is no row of the status":     "a sentence that is no row of|  the status",
	} {
		if got := strings.Join(wrapped([]string{row}, 30), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
