package watch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// curvePoints is the number of points from which on a curve is thinned to half of them.
const curvePoints = 800

// Learning is what the metrics of a run say of one training.
type Learning struct {
	Training  string   `json:"training"`
	Trainings []string `json:"trainings"` // of the run, the one that is shown unasked first

	Curves map[string][][2]float64 `json:"curves"` // by tag of monitor.Scalars: [x, y]
	Ends   map[string]int64        `json:"ends"`   // games by end reason
	Run    *monitor.Run            `json:"run,omitempty"`
	Alarms []*monitor.Alarm        `json:"alarms"` // the newest first
	Read   float64                 `json:"read"`   // share of the file that was read, [0,1]

	Calibration Calibration `json:"calibration"` // of the newest finished games
}

// maxAlarms that are shown.
const maxAlarms = 20

// playerRoles are the directories of the players' metrics.
const playerRoles = "selfplay-p*"

// manyBytes are how much is read of a long file at first: one in so many steps and games.
const manyBytes = 16 << 20

// often is how a line of the events begins of which there is one a step or a game.
var often = regexp.MustCompile(`^\{"v":\d+,"type":"(step|episode)"`)

// follower reads a metrics.jsonl as it grows. Zeroed but for the path it starts afresh.
type follower struct {
	path   string
	tail   monitor.Tail
	lines  int64
	stride int64 // of the lines of steps and games one in so many is taken; 0 = nothing was read yet
	curves map[string]*curve
	ends   map[string]int64
	run    *monitor.Run
	alarms []*monitor.Alarm
}

// curve holds means over groups of neighbouring points.
type curve struct {
	points [][2]float64 // of whole groups
	group  int          // points in one
	sum    [2]float64   // of the group that is being filled
	filled int          // points in that
}

// add appends a point.
func (c *curve) add(x, y float64) {
	c.sum[0], c.sum[1] = c.sum[0]+x, c.sum[1]+y
	if c.filled++; c.filled < c.group {
		return
	}
	n := float64(c.filled)
	c.points = append(c.points, [2]float64{c.sum[0] / n, c.sum[1] / n})
	c.sum, c.filled = [2]float64{}, 0
	if len(c.points) < curvePoints {
		return
	}
	for i := range curvePoints / 2 {
		a, b := c.points[2*i], c.points[2*i+1]
		c.points[i] = [2]float64{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	}
	c.points = c.points[:curvePoints/2]
	c.group *= 2
}

// all returns the points, the group that is being filled as the last.
func (c *curve) all() [][2]float64 {
	points := append([][2]float64(nil), c.points...)
	if n := float64(c.filled); n > 0 {
		points = append(points, [2]float64{c.sum[0] / n, c.sum[1] / n})
	}
	return points
}

// readFor is how long one look reads a long file: a reader sees the beginning meanwhile.
const readFor = time.Second

// read goes on where the last call ended, for about readFor.
func (f *follower) read() (*Learning, error) {
	file, err := fsx.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		*f = follower{path: f.path}
		return f.learning(1), nil
	}
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	if !f.tail.Fits(file) { // cut back to a checkpoint
		*f = follower{path: f.path}
	}
	if f.curves == nil {
		f.curves, f.ends = map[string]*curve{}, map[string]int64{}
	}
	f.stride = cmp.Or(f.stride, 1+(info.Size()-f.tail.Offset())/manyBytes)
	began := time.Now()
	end, err := f.tail.Read(file, func(line []byte) (bool, error) { return time.Since(began) < readFor, f.take(line) })
	if err != nil {
		err = fmt.Errorf("read metrics: %s, %w", f.path, err)
		*f = follower{path: f.path}
		return nil, err
	}
	if end {
		f.stride = 1
		return f.learning(1), nil
	}
	return f.learning(min(float64(f.tail.Offset())/float64(max(info.Size(), 1)), 0.999)), nil
}

// take adds the event of a line. Where there is much to catch up with, steps and games are
// taken one of so many: the curves are thinned anyway.
func (f *follower) take(line []byte) error {
	if f.lines++; f.lines%f.stride != 0 && often.Match(line) {
		return nil
	}
	e, err := monitor.Decode(line)
	if errors.Is(err, monitor.ErrUnknownType) {
		return nil // of a newer program
	}
	if err == nil {
		f.add(e)
	}
	return err
}

func (f *follower) learning(read float64) *Learning {
	l := &Learning{Curves: map[string][][2]float64{}, Ends: f.ends, Run: f.run, Alarms: []*monitor.Alarm{}, Read: read}
	for tag, c := range f.curves {
		l.Curves[tag] = c.all()
	}
	for i := len(f.alarms) - 1; i >= 0 && len(l.Alarms) < maxAlarms; i-- {
		l.Alarms = append(l.Alarms, f.alarms[i])
	}
	return l
}

func (f *follower) add(e monitor.Event) {
	x, scalars := monitor.Scalars(e)
	for _, s := range scalars {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		c := f.curves[s.Tag]
		if c == nil {
			c = &curve{group: 1}
			f.curves[s.Tag] = c
		}
		c.add(float64(x), s.Value)
	}
	switch e := e.(type) {
	case *monitor.Run:
		if f.run != nil && e.Arch == "" { // an end names neither net nor device
			ended := *f.run
			ended.Header, ended.Phase, ended.Message = e.Header, e.Phase, e.Message
			e = &ended
		}
		f.run = e
	case *monitor.Episode:
		f.ends = e.Ends
	case *monitor.SelfPlay:
		f.ends = e.Ends
	case *monitor.Alarm:
		if f.alarms = append(f.alarms, e); len(f.alarms) > 2*maxAlarms {
			f.alarms = append(f.alarms[:0], f.alarms[maxAlarms:]...)
		}
	}
}

// course is what is known of one training.
type course struct {
	training string
	curves   shared[*Learning]
	learning follower // of the trainer's metrics
	player   follower // of a player's, where the trainer plays no games
}

// Learning returns what is known up to now of a training, "" = that of the source's
// directory. Where processes of their own play, the games are those of the first one.
func (s *Source) Learning(training string) (*Learning, error) {
	c, err := s.course(training)
	if err != nil {
		return nil, err
	}
	return c.curves.get(curvesAge, func() (*Learning, error) { return s.readLearning(c) })
}

// dirs are those of the run's trainings, first the source's own, which need not be there yet.
func (s *Source) dirs() []run.Dir {
	all, _ := s.trainings.get(gamesAge, func() ([]run.Dir, error) { return setup.Trainings(s.opt.Dir.Root) }) // what cannot be read is a warning of the status
	others := slices.DeleteFunc(slices.Clone(all), func(d run.Dir) bool { return d.Training == s.opt.Dir.Training })
	return append([]run.Dir{s.opt.Dir}, others...)
}

// course finds a training.
func (s *Source) course(training string) (*course, error) {
	training = cmp.Or(training, s.opt.Dir.Training)
	all := s.dirs()
	i := slices.IndexFunc(all, func(d run.Dir) bool { return d.Training == training })
	if i < 0 {
		return nil, &QuestionError{fmt.Sprintf("training %q: there is none of that name in %s", training, s.opt.Dir.Root)}
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	c := s.courses[training]
	if c == nil {
		c = &course{training: training, learning: follower{path: filepath.Join(all[i].Learning, monitor.MetricsName)}}
		s.courses[training] = c
	}
	return c, nil
}

func (s *Source) readLearning(c *course) (*Learning, error) {
	l, err := c.read(s.opt.Dir.Metrics)
	if err == nil {
		games, _ := s.Finished() // what is wrong with them stands where they are listed
		l.Training, l.Calibration = c.training, calibrate(games)
		for _, d := range s.dirs() {
			l.Trainings = append(l.Trainings, d.Training)
		}
	}
	return l, err
}

// read goes on with the training's metrics, and with those of a player in the job's directory.
func (c *course) read(metrics string) (*Learning, error) {
	l, err := c.learning.read()
	if err != nil || len(l.Ends) > 0 {
		return l, err
	}
	if c.player.path == "" {
		paths, _ := filepath.Glob(filepath.Join(metrics, playerRoles, monitor.MetricsName)) // the pattern is well-formed
		if len(paths) == 0 {
			return l, nil
		}
		c.player.path = paths[0]
	}
	played, err := c.player.read()
	if err != nil {
		return nil, err
	}
	maps.Copy(l.Curves, played.Curves)
	l.Ends, l.Alarms, l.Read = played.Ends, append(l.Alarms, played.Alarms...), min(l.Read, played.Read)
	l.Run = cmp.Or(l.Run, played.Run)
	return l, nil
}
