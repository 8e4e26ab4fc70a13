package screen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/watch"
)

// Run is what a screen asks of a run; a *watch.Source answers.
type Run interface {
	Status() (*cycle.Status, error)
	Playing() ([]record.View, error)
	Finished() ([]watch.Finished, error)
	Learning(training string) (*watch.Learning, error)
	Nets() []string
	Think(context.Context, watch.Question) (*watch.Thought, error)
	Give(context.Context, watch.Order) (string, error)
}

// page is one of the screen's.
type page int

const (
	overview page = iota
	games
	search
	learning
	processes
	numPages
)

var pageNames = [numPages]string{"Overview", "Games", "Search", "Learning", "Processes"}

// Smallest terminal that a screen fits.
const minColumns, minLines = 40, 12

// Screen is what is shown of a run, and where its reader is in it. It is used by one
// goroutine. What takes time is left to whoever calls: Look and the functions that Key returns.
type Screen struct {
	run     Run
	name    string
	colored bool

	page page
	seen seen
	said string // answer to the last order, or what is wrong with what was typed
	top  int    // first line or chart that is shown, where there are more

	training string // whose curves are shown; "" = those of the run's own

	chosen int          // line of the games, then of the processes
	opened *record.View // game that is looked at
	ply    int          // moves of it that were made

	position string // of the search, as in UCI
	net      string // of the run's nets; "" = the newest
	visits   int
	thought  *watch.Thought
	question int    // of the newest search: answers to older ones come too late
	leave    func() // ends the search under way; nil = there is none
	move     int    // line of the answer

	prompt string // what is asked for; "" = nothing
	typed  []rune
	accept func(string) Work // takes what was typed
	oneKey bool              // y accepts, any other key leaves it
}

// seen is what was last read of the run.
type seen struct {
	known    bool // it was read
	status   *cycle.Status
	playing  []record.View
	finished []watch.Finished
	learning *watch.Learning
	nets     []string
	err      error
}

// Work is what a key asks for that takes time. It may run in another goroutine; the function
// that it returns takes the answer.
type Work func(context.Context) func()

// NewScreen returns the screen of a run with a name, on its first page.
func NewScreen(r Run, name string, colored bool) *Screen {
	return &Screen{run: r, name: name, colored: colored, position: "startpos", visits: 400}
}

// Look returns the work of reading what the page shows.
func (s *Screen) Look() Work {
	p, r, training := s.page, s.run, s.training
	return func(context.Context) func() {
		now := seen{known: true}
		now.status, now.err = r.Status()
		note := func(err error) { now.err = cmp.Or(now.err, err) }
		var err error
		switch p {
		case overview, games:
			now.playing, err = r.Playing()
			if note(err); p == games {
				now.finished, err = r.Finished()
			}
		case search:
			now.nets = r.Nets()
		case learning:
			now.learning, err = r.Learning(training)
		}
		note(err)
		return func() {
			if s.page == p && s.training == training {
				s.take(now)
			}
		}
	}
}

// take shows what was read anew: the same game stays chosen, and one that is looked at goes
// on. After a fault what was read before it stays.
func (s *Screen) take(now seen) {
	if now.err != nil && s.seen.known {
		s.seen.err = now.err
		return
	}
	if i := s.chosen - len(s.seen.playing); s.page == games && i >= 0 && i < len(s.seen.finished) {
		id := s.seen.finished[i].ID
		if k := slices.IndexFunc(now.finished, func(g watch.Finished) bool { return g.ID == id }); k >= 0 {
			s.chosen = len(now.playing) + k
		}
	}
	if s.seen = now; s.opened == nil || s.opened.Result != "*" {
		return
	}
	i := slices.IndexFunc(now.playing, func(v record.View) bool { return v.Game == s.opened.Game && v.Process == s.opened.Process })
	if i < 0 {
		s.said = "this game is over; it is among the finished ones soon"
		return
	}
	end := s.ply == len(s.opened.Moves)
	if s.open(&now.playing[i]); end {
		s.ply = len(s.opened.Moves)
	}
}

// open looks at a copy of a game, with all its moves in SAN.
func (s *Screen) open(v *record.View) {
	game := *v
	if err := game.Spell(len(game.Moves)); err != nil {
		s.said, game.SAN = err.Error(), nil
	}
	s.opened = &game
}

// Key is a key: a character, or one of these.
type Key string

// The keys without a character.
const (
	Up, Down, Left, Right, Home, End Key = "up", "down", "left", "right", "home", "end"
	Enter, Escape, Backspace, Tab    Key = "enter", "escape", "backspace", "tab"
	Interrupt                        Key = "interrupt" // Ctrl-C
)

// Key takes a key. It returns the work that it asks for, which may be nil, and whether it
// ends the screen.
func (s *Screen) Key(k Key) (work Work, quit bool) {
	if k == Interrupt {
		return nil, true
	}
	if s.prompt != "" {
		return s.typing(k), false
	}
	s.said = ""
	switch {
	case k == "q":
		return nil, true
	case k == Tab:
		s.show((s.page + 1) % numPages)
		return s.Look(), false
	case len(k) == 1 && k[0] >= '1' && k[0] < '1'+byte(numPages):
		s.show(page(k[0] - '1'))
		return s.Look(), false
	}
	switch s.page {
	case learning:
		if k == Left || k == Right {
			return s.turn(k), false
		}
		s.top = moved(k, s.top, 1<<20)
	case overview:
		s.top = moved(k, s.top, 1<<20) // drawing bounds it
	case games:
		return s.gamesKey(k), false
	case search:
		return s.searchKey(k), false
	case processes:
		return s.processesKey(k), false
	}
	return nil, false
}

func (s *Screen) show(p page) {
	if s.page != p {
		s.page, s.top, s.chosen, s.opened, s.seen = p, 0, 0, nil, seen{status: s.seen.status, nets: s.seen.nets}
	}
}

// turn goes to the training before or after the one that is shown.
func (s *Screen) turn(k Key) Work {
	l := s.seen.learning
	if l == nil || len(l.Trainings) == 0 {
		return nil
	}
	i := slices.Index(l.Trainings, l.Training) + map[Key]int{Left: -1, Right: 1}[k]
	s.training, s.top = l.Trainings[max(min(i, len(l.Trainings)-1), 0)], 0
	return s.Look()
}

// moved is a choice among n after a key.
func moved(k Key, i, n int) int {
	switch k {
	case Up:
		i--
	case Down:
		i++
	case Home:
		i = 0
	case End:
		i = n - 1
	}
	return max(min(i, n-1), 0)
}

// ask lets the reader type, and gives what was typed to accept.
func (s *Screen) ask(prompt string, accept func(string) Work) {
	s.prompt, s.typed, s.accept, s.oneKey = prompt, nil, accept, false
}

// typing takes a key while something is typed.
func (s *Screen) typing(k Key) Work {
	switch char := []rune(k); {
	case k == Escape, s.oneKey && k != "y":
		s.prompt = ""
	case k == Enter, s.oneKey:
		s.prompt = ""
		return s.accept(strings.TrimSpace(string(s.typed)))
	case k == Backspace:
		s.typed = s.typed[:max(len(s.typed)-1, 0)]
	case len(char) == 1 && unicode.IsPrint(char[0]):
		s.typed = append(s.typed, char[0])
	}
	return nil
}

// gamesKey chooses a game, or walks through the one that is open.
func (s *Screen) gamesKey(k Key) Work {
	if s.opened == nil {
		s.chosen = moved(k, s.chosen, len(s.seen.playing)+len(s.seen.finished))
		if k == Enter {
			if i := s.chosen - len(s.seen.playing); i < 0 {
				s.open(&s.seen.playing[s.chosen])
			} else if i < len(s.seen.finished) {
				s.open(&s.seen.finished[i].View)
			}
			if s.opened != nil {
				s.ply = len(s.opened.Moves)
			}
		}
		return nil
	}
	switch k {
	case Escape, Backspace:
		s.opened = nil
	case Left, Up:
		s.ply = max(s.ply-1, 0)
	case Right, Down:
		s.ply = min(s.ply+1, len(s.opened.Moves))
	case Home:
		s.ply = 0
	case End:
		s.ply = len(s.opened.Moves)
	case "s":
		position := "fen " + s.opened.Start
		if s.ply > 0 {
			position += " moves " + strings.Join(s.opened.Moves[:s.ply], " ")
		}
		s.show(search)
		return s.think(position)
	}
	return nil
}

// searchKey changes the question, or walks into the tree.
func (s *Screen) searchKey(k Key) Work {
	switch k {
	case Enter:
		if s.leave != nil {
			return nil // the moves that stand there are of the position before
		}
		if s.thought == nil || s.move >= len(s.thought.Moves) {
			return s.think(s.position)
		}
		position := s.position
		if !slices.Contains(strings.Fields(position), "moves") {
			position += " moves"
		}
		return s.think(position + " " + s.thought.Moves[s.move].Move)
	case Backspace, Left:
		words := strings.Fields(s.position)
		if i := slices.Index(words, "moves"); i >= 0 {
			if words = words[:len(words)-1]; len(words) == i+1 {
				words = words[:i]
			}
		}
		return s.think(strings.Join(words, " "))
	case "+":
		s.visits = min(s.visits*4, maxVisits)
		return s.think(s.position)
	case "-":
		s.visits = max(s.visits/4, 1)
		return s.think(s.position)
	case "n": // the newest, then the others
		next := slices.Index(s.seen.nets, s.net) + 1
		if s.net == "" {
			next = 1
		}
		if s.net = ""; next > 0 && next < len(s.seen.nets) {
			s.net = s.seen.nets[next]
		}
		return s.think(s.position)
	case "f":
		s.ask("FEN, or startpos: ", func(text string) Work {
			if text == "" {
				return nil
			}
			if !strings.HasPrefix(text, "startpos") {
				text = "fen " + strings.TrimPrefix(text, "fen ")
			}
			return s.think(text)
		})
	default:
		if s.thought != nil {
			s.move = moved(k, s.move, len(s.thought.Moves))
		}
	}
	return nil
}

// maxVisits is the most visits that are asked for with keys: an answer in seconds.
const maxVisits = 6400

// think asks the net about a position, in the place of what it was asked before.
func (s *Screen) think(position string) Work {
	if s.leave != nil {
		s.leave()
	}
	q := watch.Question{Net: s.net, Position: position, Visits: s.visits}
	s.question++
	r, mine := s.run, s.question
	within, leave := context.WithCancel(context.Background())
	s.leave = leave
	return func(ctx context.Context) func() {
		defer context.AfterFunc(ctx, leave)()
		found, err := r.Think(within, q)
		return func() {
			if leave(); mine != s.question {
				return
			}
			if s.leave = nil; err != nil {
				s.said = err.Error()
				return
			}
			s.thought, s.position, s.move = found, position, 0
		}
	}
}

// workers are the processes that take orders: those with a role of their own. The role "run"
// is a lock, too.
func (s *Screen) workers() (list []cycle.Process) {
	if s.seen.status == nil {
		return nil
	}
	for _, p := range s.seen.status.Processes {
		if p.Role != "run" || len(s.seen.status.Processes) == 1 {
			list = append(list, p)
		}
	}
	return list
}

// orders are the keys of orders, with what the reader confirms.
var orders = map[Key]struct{ command, sure string }{
	"c": {"checkpoint-now", "write a checkpoint after the next step"},
	"t": {"start-training-now", "begin the next training without waiting for its games"},
	"x": {"stop", "finish the current step, save, and end the process"},
}

func (s *Screen) processesKey(k Key) Work {
	all := s.workers()
	s.chosen = moved(k, s.chosen, len(all))
	if len(all) == 0 {
		return nil
	}
	role := all[s.chosen].Role
	if o, ok := orders[k]; ok {
		s.ask(fmt.Sprintf("%s: %s? (y: yes, any other key: no)", role, o.sure), func(string) Work {
			return s.give(watch.Order{Role: role, Command: o.command})
		})
		s.oneKey = true
	}
	if k == "w" || k == "d" {
		what := map[Key]string{"w": "swap", "d": "try"}[k]
		s.ask(what+" rescorer|sampler|exporter NAME[,NAME] [STAGE.SETTING=VALUE ...]: ", func(text string) Work {
			swap, err := parseSwap(text)
			if err != nil {
				s.said = err.Error()
				return nil
			}
			swap.DryRun = k == "d"
			return s.give(watch.Order{Role: role, Command: "swap-plugin", Swap: swap})
		})
	}
	return nil
}

// parseSwap reads a kind, names and settings, as chessbrain plugins swap takes them.
func parseSwap(text string) (swap run.Swap, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return swap, fmt.Errorf("%q: want rescorer, sampler or exporter, and the name of a stage", text)
	}
	kind, err := stage.ParseKind(words[0])
	if err != nil {
		return swap, err
	}
	chosen, err := stage.ParseChoices(kind, words[1], words[2:])
	swap.Kind = words[0]
	for _, one := range chosen {
		swap.Stages = append(swap.Stages, run.SwapStage(one))
	}
	return swap, err
}

func (s *Screen) give(o watch.Order) Work {
	r := s.run
	s.said = "..."
	return func(ctx context.Context) func() {
		answer, err := r.Give(ctx, o)
		return func() {
			if s.said = answer; err != nil {
				s.said = err.Error()
			}
		}
	}
}

// at returns a game's position after so many moves.
func at(v *record.View, ply int) string {
	board, err := chess.ParseFEN(v.Start)
	if err != nil {
		return v.FEN
	}
	for _, uci := range v.Moves[:ply] {
		m, err := board.ParseUCI(uci)
		if err != nil {
			return v.FEN
		}
		board.Make(m)
	}
	return board.FEN()
}
