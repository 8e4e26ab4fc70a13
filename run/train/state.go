package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// State is what the loop itself keeps in a checkpoint, beside the sections of
// the trainer, the windows and the sampler.
type State struct {
	Episodes  int64            `json:"episodes"`   // games counted: the journal's first so many lines
	StepsLeft int              `json:"steps_left"` // optimizer steps that the latest episode still pays for
	Rows      int64            `json:"rows"`       // positions of all games counted
	Results   monitor.Results  `json:"results"`
	Ends      map[string]int64 `json:"ends"` // end reasons
	Recent    []RecentGame     `json:"recent"`
	Metrics   json.RawMessage  `json:"metrics,omitempty"` // where the metrics files ended

	Resign      selfplay.ResignWatch `json:"resign"`
	Course      selfplay.CourseWatch `json:"course"`
	Gradients   GradientWatch        `json:"gradients"`
	Checkpoints int64                `json:"checkpoints"`           // written so far, this one included
	ExportOwed  bool                 `json:"export_owed,omitempty"` // an export follows this checkpoint, which its epoch asks for
	Exported    []string             `json:"exported,omitempty"`    // files of published nets, oldest first, where there is no list of them (published.go) yet
}

// RecentGame is what the running means look at.
type RecentGame struct {
	Plies int  `json:"plies"`
	Draw  bool `json:"draw"`
}

// numRecent is how many games the running means cover.
const numRecent = 100

const stateVersion = 1

// Section saves and restores the state.
func (s *State) Section() stage.Section {
	return replay.JSONSection("loop", "loop section", stateVersion, func() State { return *s }, func(saved State) error {
		*s = saved
		return nil
	})
}

// withLoad returns a section whose load is followed by another look at the same bytes:
// then gets what load came to.
func withLoad(s stage.Section, then func(data []byte, version int, err error) error) stage.Section {
	load := s.Load
	s.Load = func(in io.Reader, version int) error {
		data, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("read section %s: %w", s.Name, err)
		}
		return then(data, version, load(bytes.NewReader(data), version))
	}
	return s
}

// count adds one game.
func (s *State) count(g *record.Game) {
	s.Episodes++
	s.Rows += int64(len(g.Plies))
	switch g.WhiteResult {
	case 1:
		s.Results.White++
	case -1:
		s.Results.Black++
	default:
		s.Results.Draw++
	}
	if s.Ends == nil {
		s.Ends = map[string]int64{}
	}
	s.Ends[g.End.String()]++
	s.Recent = append(s.Recent, RecentGame{len(g.Plies), g.WhiteResult == 0})
	if len(s.Recent) > numRecent {
		s.Recent = s.Recent[len(s.Recent)-numRecent:]
	}
}

// means returns the mean length in plies and the draw share of recent games.
func (s *State) means() (plies, draws float64) {
	for _, g := range s.Recent {
		plies += float64(g.Plies)
		if g.Draw {
			draws++
		}
	}
	n := float64(max(1, len(s.Recent)))
	return plies / n, draws / n
}

// CheckpointEpisode is the number of games that a checkpoint of a run has seen.
func CheckpointEpisode(c *checkpoint.Checkpoint) (int64, error) {
	var s State
	_, err := c.Restore([]stage.Section{s.Section()})
	return s.Episodes, err
}
