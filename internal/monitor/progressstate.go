package monitor

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// subject is what the line of a Progress is about.
type subject int

const (
	nothing subject = iota
	training
	playing  // self-play, and no training beside it
	matching // a match of the gatekeeper
)

// progressState is what the line is made of.
type progressState struct {
	subject      subject
	start        time.Time // of the Run event: this process
	startEpisode int64
	startStep    int64
	goal         int64 // episodes wanted; 0 = none
	now          time.Time
	episode      Episode
	step         Step
	val          Numbers
	play         SelfPlay
	gate         Gate
}

// add takes an event into the state and says whether the display changes.
func (s *progressState) add(e Event) bool {
	s.now = e.Head().Time
	if s.start.IsZero() {
		s.start = s.now
	}
	switch e := e.(type) {
	case *Run:
		if e.ends() {
			return s.leave() || s.subject == training
		}
		*s = progressState{subject: training, now: s.now, start: s.now, startEpisode: e.Episode, startStep: e.Step, goal: e.Episodes}
		s.episode.Episode, s.step.Step = e.Episode, e.Step
	case *Stage:
		return e.State != "started" && s.leave()
	case *Episode:
		s.subject, s.episode, s.goal = training, *e, max(s.goal, e.Episodes)
	case *Step:
		s.subject, s.step = training, *e
	case *Validation:
		s.subject = training
		if e.Weights == WeightsRaw {
			s.val = e.Losses
		}
	case *SelfPlay:
		s.subject, s.play = playing, *e
	case *Gate:
		if e.Verdict != "running" {
			return s.leave()
		}
		s.subject, s.gate = matching, *e
	default:
		return false
	}
	return true
}

// leave ends what vanishes with its line, and says whether there was such a thing.
func (s *progressState) leave() bool {
	if s.subject != playing && s.subject != matching {
		return false
	}
	s.subject = nothing
	return true
}

// eta estimates the time to the goal from this process's episodes, or else steps; ok is
// false before the first.
func (s *progressState) eta() (left time.Duration, ok bool) {
	at, start, goal := s.episode.Episode, s.startEpisode, s.goal
	if goal == 0 {
		at, start, goal = s.step.Step, s.startStep, s.step.Steps
	}
	done := at - start
	if done <= 0 || goal <= 0 {
		return 0, false
	}
	remaining := max(goal-at, 0)
	return time.Duration(float64(s.now.Sub(s.start)) / float64(done) * float64(remaining)).Round(time.Second), true
}

// rates are those of the newest event that has some.
func (s *progressState) rates() Rates {
	if s.step.Time.After(s.episode.Time) {
		return s.step.Rates
	}
	return s.episode.Rates
}

// parts are the figures of the line, what matters most first.
func (s *progressState) parts() []string {
	switch s.subject {
	case playing:
		return s.play.parts()
	case matching:
		return s.gate.parts()
	default:
		return s.trainingParts()
	}
}

// ofGoal is the number of an episode or step, with that of the last where it is known.
func ofGoal(name string, n, goal int64) string {
	if goal > 0 {
		return fmt.Sprintf("%s %d/%d", name, n, goal)
	}
	return fmt.Sprintf("%s %d", name, n)
}

// ofWanted is a count, with how many there are to be where that is known.
func ofWanted(n, wanted int64) string {
	if wanted > 0 {
		return fmt.Sprintf("%d/%d games", n, wanted)
	}
	return Count(n, "game")
}

func (e *SelfPlay) parts() []string {
	parts := []string{"self-play " + ofWanted(e.Games, e.Wanted)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	r := &e.Rates
	if left := float64(e.Wanted - e.Games); e.Wanted > 0 && r.GamesPerSecond > 0 {
		add("eta %s", time.Duration(left/float64(r.GamesPerSecond)*float64(time.Second)).Round(time.Second))
	}
	add("%.0f pos/s", float64(r.PositionsPerSecond))
	if e.Results.Games() > 0 {
		add("draws %.0f%%", 100*e.Results.DrawShare())
		add("plies %.0f", float64(e.MeanPlies))
	}
	return append(parts, r.network()...)
}

// network says what the net has to do, as far as anybody asks it.
func (r *Rates) network() (parts []string) {
	if r.PositionsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%.0f eval/s", float64(r.EvaluationsPerSecond)))
	}
	if r.MeanBatch > 0 {
		parts = append(parts, fmt.Sprintf("batch %.1f", float64(r.MeanBatch)), fmt.Sprintf("cache %.0f%%", 100*float64(r.CacheHitShare)))
	}
	return parts
}

func (e *Gate) parts() []string {
	played := e.Wins + e.Draws + e.Losses
	parts := []string{"match " + ofWanted(int64(played), int64(e.Wanted)), fmt.Sprintf("+%d =%d -%d", e.Wins, e.Draws, e.Losses)}
	if elo := float64(e.Elo); !math.IsNaN(elo) && !math.IsInf(elo, 0) {
		parts = append(parts, fmt.Sprintf("elo %+.0f", elo))
	}
	return append(parts, e.Candidate)
}

func (s *progressState) trainingParts() (parts []string) {
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	first, second := ofGoal("episode", s.episode.Episode, s.goal), ofGoal("step", s.step.Step, s.step.Steps)
	if s.goal == 0 && (s.step.Steps > 0 || s.episode.Episode == 0) {
		first, second = second, first
	}
	add("%s", first)
	var others []string
	for _, name := range s.step.Losses.Names() {
		short, isLoss := strings.CutSuffix(name, "_loss")
		loss := float64(s.step.Losses[name])
		if !isLoss || short == "l2" || loss != loss { // NaN: no row had a target
			continue
		}
		text := fmt.Sprintf("%s %.3f", short, loss)
		if v, ok := s.val[name]; ok && !math.IsNaN(float64(v)) {
			text += fmt.Sprintf(" (val %.3f)", float64(v))
		}
		if short == "policy" || short == "value" {
			parts = append(parts, text)
		} else {
			others = append(others, text)
		}
	}
	if left, ok := s.eta(); ok {
		add("eta %s", left)
	}
	r := s.rates()
	if r.PositionsPerSecond > 0 { // somebody plays
		add("%.0f pos/s", float64(r.PositionsPerSecond))
	}
	if s.episode.Results.Games() > 0 {
		add("draws %.0f%%", 100*float64(s.episode.DrawShare))
		add("plies %.0f", float64(s.episode.MeanPlies))
	}
	parts = append(parts, others...)
	if s.goal > 0 || s.episode.Episode > 0 {
		add("%s", second)
	}
	parts = append(parts, r.network()...)
	if s.step.SkippedTotal > 0 {
		add("%s skipped", Count(s.step.SkippedTotal, "step"))
	}
	return parts
}
