package cycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/train"
)

// Process is one holder of a role's lock.
type Process struct {
	Role    string          `json:"role"` // name of the lock: trainer-main, selfplay-p1, gatekeeper, ...
	Host    string          `json:"host"`
	PID     int             `json:"pid"`
	Command string          `json:"command"`
	Started time.Time       `json:"started"`
	Page    json.RawMessage `json:"page,omitempty"`  // what it answers to status
	Error   string          `json:"error,omitempty"` // why it does not

	socket string // "" = it has none
}

// askFor is how long a process has to answer.
const askFor = 2 * time.Second

// readProcesses returns who holds the locks in dir now, by role and start, and asks
// each over its control socket, all at the same time.
func readProcesses(ctx context.Context, dir run.Dir) ([]Process, error) {
	all, err := readOwners(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i].ask(ctx) })
	}
	asked.Wait()
	return all, nil
}

// readOwners returns who holds the locks in dir now, by role and start.
func readOwners(dir run.Dir) ([]Process, error) {
	entries, err := fsx.Entries(fsx.OS, dir.Locks())
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	var all []Process
	last := ""
	for _, e := range entries { // sorted by name, so a role's owners are together
		role, _, ok := strings.Cut(e.Name(), ".owner.")
		if !ok || role == last {
			continue
		}
		last = role
		owners, err := fsx.Owners(dir.Lock(run.Role(role)))
		if err != nil {
			return nil, fmt.Errorf("read locks: %w", err)
		}
		for _, o := range owners {
			all = append(all, Process{Role: role, Host: o.Host, PID: o.PID, Command: o.Command, Started: o.Started.UTC(), socket: o.Socket})
		}
	}
	return all, nil
}

// ask fills in the page of a process that has a socket.
func (p *Process) ask(ctx context.Context) {
	if p.socket == "" {
		return
	}
	err := run.Send(ctx, p.socket, run.Message{Type: "status"}, func(m run.Message) error { p.Page = m.Payload; return nil })
	if err == nil && p.Page == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		p.Error = fmt.Sprintf("does not answer (on another machine, or busy): %v", err)
	}
}

// Games returns games that the processes of the run at root play now, a few of each. A process
// that plays none, or does not answer, has none.
func Games(ctx context.Context, root string) ([]record.View, error) {
	owners, err := readOwners(run.Dir{Root: root})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	games := make([][]record.View, len(owners))
	var asked sync.WaitGroup
	for i, p := range owners {
		if p.socket == "" {
			continue
		}
		asked.Go(func() {
			_ = run.Send(ctx, p.socket, run.Message{Type: "games"}, func(m run.Message) error { return json.Unmarshal(m.Payload, &games[i]) })
			for k := range games[i] {
				games[i][k].Process = p.Role
			}
		})
	}
	asked.Wait()
	return slices.Concat(games...), nil
}

// Tell gives a command to the process of a role in the run at root and returns its answer.
func Tell(ctx context.Context, root, role string, m run.Message) (answer run.Message, err error) {
	owners, err := readOwners(run.Dir{Root: root})
	if err != nil {
		return answer, err
	}
	for _, p := range owners {
		if p.Role == role && p.socket != "" {
			err := run.Send(ctx, p.socket, m, func(a run.Message) error { answer = a; return nil })
			return answer, err
		}
	}
	return answer, fmt.Errorf("there is no %s at work in %s", role, root)
}

// holds says whether somebody holds a role whose name has the prefix.
func (s *Status) holds(prefix string) bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return strings.HasPrefix(p.Role, prefix) })
}

// rolesOf is how the roles begin that do a stage; another stage is its own.
var rolesOf = map[Stage]string{SelfPlay: "selfplay-", Train: "trainer-", Export: string(run.Exporter), Rating: string(run.Rater), Shuffle: shuffle.Role}

// addProgress says how far everything under way is: the stage of the cycle, and
// what each process answers.
func (s *Status) addProgress(state *State) {
	if s.Loop != nil {
		stage := s.Loop.Stage
		s.Loop.Running = s.holds(string(run.Loop)) || stage != "" && s.holds(cmp.Or(rolesOf[stage], string(stage)))
	}
	for _, p := range s.Processes {
		progressOf := s.matching
		switch {
		case strings.HasPrefix(p.Role, rolesOf[SelfPlay]):
			progressOf = s.playing
		case strings.HasPrefix(p.Role, rolesOf[Train]):
			progressOf = s.training
		case p.Role != string(run.Gatekeeper):
			continue
		}
		if g := progressOf(state, p, s.Now.Sub(p.Started).Seconds()); g != nil {
			if g.Need > g.Have && g.Rate > 0 {
				g.ETA = (g.Need - g.Have) / g.Rate
			}
			s.Progress = append(s.Progress, *g)
		}
	}
}

// playing is how far a playing process is, with what is missing of the cycle's games
// where it plays those; nil where it does not answer.
func (s *Status) playing(state *State, p Process, elapsed float64) *Progress {
	var page play.PlayPage
	if json.Unmarshal(p.Page, &page) != nil {
		return nil
	}
	g := &Progress{What: "self-play " + page.Process, Have: float64(page.Games), Unit: "games", Details: "net " + page.Net}
	if elapsed > 0 {
		g.Rate = float64(page.GamesFinished) / elapsed
		g.Details += fmt.Sprintf(", %.0f positions/s, %.0f evaluations/s", float64(page.Positions)/elapsed, float64(page.Evaluations)/elapsed)
	}
	if state != nil && s.Loop.Stage == SelfPlay && page.Process == fmt.Sprintf("p%d", state.process) {
		g.Need = float64(state.target)
	}
	return g
}

// training is how far a training process is, with the samples of the cycle's training.
func (s *Status) training(state *State, p Process, _ float64) *Progress {
	var page train.Page
	if json.Unmarshal(p.Page, &page) != nil {
		return nil
	}
	rate := float64(page.Rates.RowsPerSecond)
	g := &Progress{What: "training", Have: float64(page.Step), Unit: "steps", Rate: float64(page.Rates.StepsPerSecond), Details: page.Stage}
	if len(s.Trainings) > 1 {
		g.What += " " + strings.TrimPrefix(p.Role, rolesOf[Train])
	}
	if page.Episodes > 0 { // it plays the games itself
		g.Have, g.Need, g.Unit, g.Rate = float64(page.Episode), float64(page.Episodes), "games", float64(page.Rates.GamesPerSecond)
	}
	if loss, ok := page.Losses["policy_loss"]; ok {
		g.Details += fmt.Sprintf(", policy loss %.4f", float64(loss))
	}
	own := len(s.Trainings) > 0 && p.Role == string(run.Trainer(s.Trainings[0].Name)) // the one of the cycles
	if state != nil && own && s.Loop.Stage == Train && rate > 0 && g.Rate > 0 {
		e := state.began[Train]
		rows := rate / g.Rate // of a step
		g.Need = e.Figures[FigureSteps] + e.Figures[FigureUpTo]/rows
	}
	return g
}

// matching is how far the match of a gatekeeper is.
func (s *Status) matching(_ *State, p Process, elapsed float64) *Progress {
	var page gate.Page
	if json.Unmarshal(p.Page, &page) != nil || page.Match == nil {
		return nil
	}
	m := page.Match
	g := &Progress{What: "gatekeeper", Have: float64(m.Games), Need: float64(m.Of), Unit: "games",
		Details: fmt.Sprintf("%s against %s: +%d =%d -%d", m.Candidate, gate.Label(m.Baseline), m.Wins, m.Draws, m.Losses)}
	if elapsed > 0 {
		g.Rate = g.Have / elapsed // a match that goes on after a kill has had some games before
	}
	return g
}
