package daemon

import (
	"cmp"
	"math"

	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run/train"
)

// status is the state as of now.
func (s *server) status() statusPayload {
	var p statusPayload
	var commands *train.Live
	own, j := &ownStatus{}, s.job
	if j != nil {
		j.mu.Lock()
		*own, commands = j.seen, j.commands
		j.mu.Unlock()
	}
	own.Version, own.State, own.Dropped = s.opt.Version, "idle", s.out.dropped.Load()
	if !s.opt.Plain {
		p.ownStatus = own
	}
	if j == nil {
		return p
	}
	own.State, own.ConfigFilepath, own.Steps = "training", j.config, j.training.Steps
	if j.ctx.Err() != nil {
		own.State = "stopping"
	}
	own.Dropped += j.dropped.Load()
	if commands == nil {
		own.Stage = "starting"
		return p
	}
	if page, ok := commands.Status().(train.Page); ok {
		own.Stage, own.Step, own.Job, own.Net = page.Stage, page.Step, page.Job, cmp.Or(own.Net, page.Net)
	}
	if commands.Loader != nil {
		stats := commands.Loader()
		p.UpdateSecs, p.OneSecond, p.Total = &stats.Seconds, metricsOf(&stats, false), metricsOf(&stats, true)
	}
	if commands.Schedule == nil {
		own.ETASeconds = own.eta(nil)
		return p
	}
	uptime := s.opt.now().Sub(s.began).Seconds()
	schedule := &scheduleData{CurrentStage: "TRAINING", Uptime: uptime, SchedulePage: commands.Schedule()}
	if schedule.Waiting {
		schedule.CurrentStage = "WAITING FOR DATA"
	}
	p.TrainingSchedule = schedule
	own.StepsLeft, own.Networks = schedule.StepsPerNetwork-schedule.StepsDone, schedule.Networks
	own.ETASeconds = own.eta(&schedule.SchedulePage)
	return p
}

// eta is the time to the end of the net under way, or else of all steps asked
// for; while it waits for chunks, that of the wait, by how fast they came since
// it began. nil = not known. p is nil without a schedule.
func (o *ownStatus) eta(p *train.SchedulePage) *float64 {
	left, rate := float64(o.Steps-o.Step), 0.0
	if o.StepsPerSecond != nil {
		rate = float64(*o.StepsPerSecond)
	}
	switch {
	case p != nil && p.Waiting:
		left, rate = float64(p.ChunksToWait-p.NewChunks), p.ChunksPerSecond
	case p != nil:
		left = float64(o.StepsLeft)
	case o.Steps == 0:
		return nil
	}
	seconds := max(0, left) / rate
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return nil
	}
	return &seconds
}

// loaderMetrics is the JSON form of lczero's DataLoaderMetricsProto: field names
// as in its schema, nothing that is not in it, for its reader refuses that.
type loaderMetrics struct {
	Stages []stageMetrics `json:"stage_metrics"`
}

type stageMetrics struct {
	Name   string         `json:"name"`
	Queues []queueMetrics `json:"queue_metrics,omitempty"`
	Counts []countMetric  `json:"count_metrics,omitempty"`
	Gauges []gaugeMetric  `json:"gauge_metrics,omitempty"`
}

type queueMetrics struct {
	Name     string    `json:"name"`
	Puts     uint64    `json:"put_count"`
	Gets     uint64    `json:"get_count"`
	Drops    uint64    `json:"drop_count"`
	Fullness *fullness `json:"queue_fullness,omitempty"`
	Capacity uint64    `json:"queue_capacity"`
}

// fullness is StatisticsProtoInt64 of one look.
type fullness struct {
	Min    int64 `json:"min"`
	Max    int64 `json:"max"`
	Sum    int64 `json:"sum"`
	Count  int64 `json:"count"`
	Latest int64 `json:"latest"`
}

type countMetric struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

type gaugeMetric struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// metricsOf are the loader's counters since its start, or what passed the queues in the
// last complete second. Of that second the loader keeps what got into each queue and
// stayed; so many are given as put and as got.
func metricsOf(s *loader.Stats, total bool) *loaderMetrics {
	m := &loaderMetrics{Stages: []stageMetrics{}}
	for _, st := range s.Stages {
		one := stageMetrics{Name: st.Name}
		for _, o := range st.Outputs {
			n := int64(o.Length)
			q := queueMetrics{Name: o.Name, Fullness: &fullness{Min: n, Max: n, Sum: n, Count: 1, Latest: n}, Capacity: uint64(o.Capacity)}
			if total {
				q.Puts, q.Gets, q.Drops = o.Puts, o.Gets, o.Drops
			} else if len(o.Passed) > 0 {
				q.Puts, q.Gets = o.Passed[0], o.Passed[0]
			}
			one.Queues = append(one.Queues, q)
		}
		for _, c := range st.Counters {
			switch {
			case !total:
			case c.Gauge:
				one.Gauges = append(one.Gauges, gaugeMetric{c.Name, whole(c.Value)})
			default:
				one.Counts = append(one.Counts, countMetric{c.Name, whole(c.Value)})
			}
		}
		m.Stages = append(m.Stages, one)
	}
	return m
}

// whole rounds a counter; lczero's are whole and not negative.
func whole(v float64) uint64 {
	if !(v > 0) || v > math.MaxInt64 {
		return 0
	}
	return uint64(math.Round(v))
}
