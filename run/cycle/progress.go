package cycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/selfplay"
)

// playing is what Status needs of a playing process's page.
type playing struct {
	Process string
	Net     string
	Games   int64
	selfplay.Snapshot
}

// addProgress says how far everything under way is: the stage of the cycle, and
// what each process answers.
func (s *Status) addProgress(state *State) {
	if s.Loop != nil {
		s.Loop.Running = s.holds(loopRole) || s.Loop.Stage != "" && s.holds(rolePrefix(s.Loop.Stage))
	}
	for _, p := range s.Processes {
		switch {
		case strings.HasPrefix(p.Role, "selfplay-"):
			s.addPlaying(state, p)
		case strings.HasPrefix(p.Role, "trainer-"):
			s.addTraining(state, p)
		case p.Role == "gatekeeper":
			s.addMatch(p)
		}
	}
}

// rolePrefix is how the roles begin that do a stage.
func rolePrefix(stage Stage) string {
	switch stage {
	case SelfPlay:
		return "selfplay-"
	case Train:
		return "trainer-"
	case Export:
		return "exporter"
	case Rating:
		return "rater"
	case Shuffle:
		return shuffle.Role
	}
	return string(stage)
}

// addPlaying adds a playing process, with what is missing of the cycle's games
// where it plays those.
func (s *Status) addPlaying(state *State, p Process) {
	var page playing
	one := Status{Processes: []Process{p}}
	if !one.pageOf(p.Role, &page) {
		return
	}
	g := Progress{What: "self-play " + page.Process, Have: float64(page.Games), Unit: "games", Details: "net " + page.Net}
	if elapsed := s.Now.Sub(p.Started).Seconds(); elapsed > 0 {
		g.Rate = float64(page.GamesFinished) / elapsed
		g.Details += fmt.Sprintf(", %.0f positions/s, %.0f evaluations/s", float64(page.Positions)/elapsed, float64(page.Evaluations)/elapsed)
	}
	if state != nil && s.Loop.Stage == SelfPlay {
		if number, games := state.Playing(); page.Process == fmt.Sprintf("p%d", number) {
			g.Need = float64(games)
		}
	}
	s.Progress = append(s.Progress, g.withETA())
}

// addTraining adds a training process, with the samples of the cycle's training.
func (s *Status) addTraining(state *State, p Process) {
	var page train.Page
	one := Status{Processes: []Process{p}}
	if !one.pageOf(p.Role, &page) {
		return
	}
	rate := float64(page.Rates.RowsPerSecond)
	g := Progress{What: "training", Have: float64(page.Step), Unit: "steps", Rate: float64(page.Rates.StepsPerSecond), Details: page.Stage}
	if loss, ok := page.Losses["policy_loss"]; ok {
		g.Details += fmt.Sprintf(", policy loss %.4f", float64(loss))
	}
	if state != nil && s.Loop.Stage == Train && rate > 0 && g.Rate > 0 {
		e := state.began[Train]
		rows := rate / g.Rate // of a step
		g.Need = e.Figures[FigureSteps] + e.Figures[FigureUpTo]/rows
	}
	s.Progress = append(s.Progress, g.withETA())
}

// addMatch adds the match of a gatekeeper.
func (s *Status) addMatch(p Process) {
	var page gate.Page
	one := Status{Processes: []Process{p}}
	if !one.pageOf(p.Role, &page) || page.Match == nil {
		return
	}
	m := page.Match
	g := Progress{What: "gatekeeper", Have: float64(m.Games), Need: float64(m.Of), Unit: "games",
		Details: fmt.Sprintf("%s against %s: +%d =%d -%d", m.Candidate, m.Baseline, m.Wins, m.Draws, m.Losses)}
	if elapsed := s.Now.Sub(p.Started).Seconds(); elapsed > 0 {
		g.Rate = g.Have / elapsed // a match that goes on after a kill has had some games before
	}
	s.Progress = append(s.Progress, g.withETA())
}

// withETA fills in how long it takes at the rate.
func (p Progress) withETA() Progress {
	if p.Need > p.Have && p.Rate > 0 {
		p.ETA = (p.Need - p.Have) / p.Rate
	}
	return p
}

// seconds writes a duration of so many seconds.
func seconds(n float64) string {
	d := time.Duration(n * float64(time.Second))
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
