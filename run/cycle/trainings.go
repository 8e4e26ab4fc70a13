package cycle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// TrainingStatus is how far one training of the run is. Losses are those of its process
// while that works.
type TrainingStatus struct {
	Name    string          `json:"name"`
	Arch    string          `json:"arch,omitempty"` // of its net
	AtWork  bool            `json:"at_work"`
	Steps   int64           `json:"steps"`                // at the newest checkpoint, and so the samples
	Samples int64           `json:"samples"`              // trained on
	Losses  monitor.Numbers `json:"losses,omitempty"`     // of the newest step
	HeldOut monitor.Numbers `json:"validation,omitempty"` // of the newest validation
	Rate    float64         `json:"rows_s,omitempty"`     // rows a second, now
	Nets    int             `json:"nets"`                 // that it handed over or published, and that are there
	Newest  string          `json:"newest_net,omitempty"` // of them

	rows    int64  // positions of the games that entered
	playing string // net of its own players, which is in no file; empty = others play
}

// readTrainings fills in the trainings of the run, its own first. What cannot be read of one
// does not hide the others.
func (s *Status) readTrainings() error {
	dirs, err := setup.Trainings(s.Root)
	for _, dir := range dirs {
		t, broken := readTraining(dir)
		err = errors.Join(err, broken)
		for _, p := range s.Processes {
			if p.Role != string(run.Trainer(t.Name)) {
				continue
			}
			t.AtWork = true
			var page train.Page
			if json.Unmarshal(p.Page, &page) == nil && len(page.Losses) > 0 { // one that waits for its first rows has none yet
				t.Losses, t.HeldOut, t.Rate = page.Losses, page.Validation, float64(page.Rates.RowsPerSecond)
				t.plays(&page)
			}
		}
		if t.playing != "" {
			s.Nets.Playing = s.Nets.Playing || t.AtWork
			s.Nets.handed(t.playing)
		}
		s.Trainings = append(s.Trainings, t)
	}
	return err
}

// plays takes the net of the page's own players.
func (t *TrainingStatus) plays(p *train.Page) {
	if p.Episodes > 0 {
		t.playing = p.Net
	}
}

// handed makes a net the newest unless one with as many samples is in a file.
func (n *NetStatus) handed(name string) {
	_, inFile, _, _ := run.ParseNetName(n.Newest)
	if _, samples, _, ok := run.ParseNetName(name); ok && samples > inFile {
		n.Newest, n.Since = name, time.Time{}
	}
}

// readTraining reads what the files of a training say.
func readTraining(dir run.Dir) (TrainingStatus, error) {
	t := TrainingStatus{Name: dir.Training}
	at, path, err := trained(dir)
	if path != "" {
		var page train.Page
		_, broken := run.ReadJSON(filepath.Join(path, "metrics.json"), &page)
		t.Steps, t.Samples, t.rows, t.Losses, t.HeldOut = at.Step, at.Samples, at.Rows, page.Losses, page.Validation
		t.plays(&page)
		arch, unread := setup.ReadArch(filepath.Join(path, setup.NetFile))
		if unread == nil {
			t.Arch = arch.String()
		}
		err = errors.Join(err, gone(broken), gone(unread)) // a checkpoint may be removed meanwhile
	}
	most := int64(-1)
	for _, name := range netsOf(dir) {
		if _, samples, _, _ := run.ParseNetName(name); samples > most {
			most, t.Newest = samples, name
		}
		t.Nets++
	}
	return t, err
}

// netsOf returns the names of the nets of a training, wherever the exporter and the
// gatekeeper have put them.
func netsOf(dir run.Dir) (names []string) {
	for _, place := range []string{dir.ToExport(), dir.ToExportExtra(), dir.Candidates(), dir.Models(), dir.ModelsExtra(), dir.Rejected()} {
		entries, _ := fsx.Entries(fsx.OS, place)
		for _, e := range entries {
			name, _, _ := strings.Cut(e.Name(), ".")
			if line, _, _, ok := run.ParseNetName(name); ok && strings.HasSuffix(line, "-"+dir.Training) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String is the training in one line, with its samples for each of so many rows.
func (t TrainingStatus) String(rows int64) string {
	text := fmt.Sprintf("%s, %s, %s", cmp.Or(t.Arch, "no net yet"), monitor.Count(t.Steps, "step"), monitor.Count(t.Samples, "sample"))
	if rows > 0 {
		text += fmt.Sprintf(" (%.2f for each row)", float64(t.Samples)/float64(rows))
	}
	if t.AtWork {
		text += " in checkpoints"
	}
	losses, where := t.HeldOut, "held-out "
	if len(losses) == 0 {
		losses, where = t.Losses, ""
	}
	for _, name := range []string{"policy_loss", "value_loss"} {
		if loss, ok := losses[name]; ok {
			text += fmt.Sprintf(", %s%s %.4f", where, strings.ReplaceAll(name, "_", " "), float64(loss))
		}
	}
	if t.AtWork {
		text += fmt.Sprintf("; %.0f rows a second", t.Rate)
	} else {
		text += "; stopped"
	}
	if text += "; " + monitor.Count(t.Nets, "net"); t.Newest != "" {
		text += ", the newest " + t.Newest
	}
	return text
}
