package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// ErrEmpty means that there is nothing to report on.
var ErrEmpty = errors.New("nothing is trained yet: no episode and no step in the metrics")

// Point is one value of a curve.
type Point struct{ X, Y float64 }

// Data is what the reports are made of.
type Data struct {
	Job      string
	Training string             // its name, where the run has several; "" = it is the only one
	Runs     []monitor.Run      // starts and ends, in order
	Curves   map[string][]Point // by tag of monitor.Scalars; values that are not finite are left out
	Loop     string             // what a closed loop has done; "" = a training that plays itself
	Episodes int64
	Step     int64
	Samples  int64
	Skipped  int64
	Results  monitor.Results
	Ends     map[string]int64
	FirstVal *monitor.Validation // of the raw weights
	LastVal  *monitor.Validation

	Untrained *monitor.Validation // of the weights that the run began with, on the rows of LastVal; nil = not measured
	Alarms    []monitor.Alarm
	Info      monitor.ReplayInfo
}

// Elo is the tag of the curve of a loop's nets on its own rating list, by samples.
const Elo = "ratings/elo"

// OfTraining begins the tags of the losses of a run's trainings, which Compare puts side by side.
const OfTraining = "training/"

// Compare gives d the policy losses of several trainings, over the rows that each was trained
// on: held out, or of the steps where nothing is.
func (d *Data) Compare(all []*Data) {
	for _, other := range all {
		points := other.Curves["train/policy_loss"]
		if heldOut := other.Curves["val/policy_loss"]; len(heldOut) > 1 {
			points = heldOut
		}
		for _, p := range points {
			p.X *= float64(other.Samples) / float64(other.Step)
			d.Curves[OfTraining+other.Training] = append(d.Curves[OfTraining+other.Training], p)
		}
	}
}

// Read replays a metrics.jsonl.
func Read(path string) (*Data, error) {
	f, err := fsx.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	defer f.Close()
	d := &Data{Curves: map[string][]Point{}, Ends: map[string]int64{}}
	d.Info, err = monitor.Replay(f, func(e monitor.Event) error {
		d.add(e)
		return nil
	})
	if bad, ok := errors.AsType[*monitor.CorruptError](err); ok {
		bad.Path = path
	}
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	if d.Episodes == 0 && d.Step == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	return d, nil
}

// add takes one event into the data.
func (d *Data) add(e monitor.Event) {
	if job := e.Head().Job; job != "" {
		d.Job = job
	}
	x, scalars := monitor.Scalars(e)
	for _, s := range scalars {
		if !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
			d.Curves[s.Tag] = append(d.Curves[s.Tag], Point{float64(x), s.Value})
		}
	}
	switch e := e.(type) {
	case *monitor.Run:
		d.Runs = append(d.Runs, *e)
	case *monitor.Episode:
		d.Episodes, d.Results = e.Episode, e.Results
		d.Ends = maps.Clone(e.Ends)
	case *monitor.Step:
		d.Step, d.Samples, d.Skipped = e.Step, e.Samples, e.SkippedTotal
	case *monitor.Validation:
		switch e.Weights {
		case monitor.WeightsUntrained:
			d.Untrained = e
		case monitor.WeightsRaw:
			d.FirstVal, d.LastVal = cmp.Or(d.FirstVal, e), e
		}
	case *monitor.Alarm:
		d.Alarms = append(d.Alarms, *e)
	}
}

// Tags returns the curves whose tags begin with prefix, in order.
func (d *Data) Tags(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Curves)), func(tag string) bool { return !strings.HasPrefix(tag, prefix) })
}

// thin returns at most n points: means over groups of neighbours, so that a long
// run gives a small picture and noise is shown smaller than trends.
func thin(points []Point, n int) []Point {
	if len(points) <= n {
		return points
	}
	out := make([]Point, 0, n)
	for i := range n {
		group := points[i*len(points)/n : (i+1)*len(points)/n]
		var sum Point
		for _, p := range group {
			sum.X, sum.Y = sum.X+p.X, sum.Y+p.Y
		}
		out = append(out, Point{sum.X / float64(len(group)), sum.Y / float64(len(group))})
	}
	return out
}
