package monitor

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Prom shows the newest values of a run on a registry of its own. It is a Sink,
// and can be rebuilt by replaying metrics.jsonl.
type Prom struct {
	registry *prometheus.Registry
	counters map[string]prometheus.Gauge // totals: gauges, because a resume may set them back
	scalars  *prometheus.GaugeVec        // by curve
	ends     *prometheus.GaugeVec
	results  *prometheus.GaugeVec
	plugins  *prometheus.GaugeVec
	events   *prometheus.CounterVec
	alarms   *prometheus.CounterVec
	info     *prometheus.GaugeVec
}

// promTotals are the single gauges, with their help texts.
var promTotals = []struct{ name, help string }{
	{"episodes", "Games counted in the run."},
	{"steps", "Optimizer steps done in the run."},
	{"samples", "Rows trained on in the run."},
	{"entered", "Positions of games that have entered the run."},
	{"skipped_steps", "Steps skipped because a loss or gradient was not finite."},
	{"games_played", "Games finished by this process."},
	{"positions", "Moves played by this process."},
	{"evaluations", "Positions that went through the net in this process."},
	{"batches", "Calls of the net in this process."},
	{"cache_hits", "Hits of the NN cache in this process."},
	{"cache_probes", "Probes of the NN cache in this process."},
	{"queue_depth", "Durable games that wait for the trainer."},
	{"window_rows", "Rows in the replay window."},
	{"window_games", "Games in the replay window."},
}

// NewProm returns the metrics of a job, all zero.
func NewProm(job string) *Prom {
	labels := prometheus.Labels{"job_id": job}
	vec := func(name, help string, by ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "chessbrain", Name: name, Help: help, ConstLabels: labels}, by)
	}
	counter := func(name, help, by string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "chessbrain", Name: name, Help: help, ConstLabels: labels}, []string{by})
	}
	p := &Prom{
		registry: prometheus.NewRegistry(),
		counters: map[string]prometheus.Gauge{},
		scalars:  vec("value", "Newest value of a curve, as in TensorBoard.", "curve"),
		ends:     vec("game_ends", "Games of the run by how they ended.", "reason"),
		results:  vec("game_results", "Games of the run by result.", "result"),
		plugins:  vec("plugin", "What plugins did since the process uses them; times in seconds.", "plugin", "kind", "what"),
		events:   counter("events_total", "Events by type.", "type"),
		alarms:   counter("alarms_total", "Alarms by code.", "code"),
		info:     vec("run_info", "The run: always 1.", "version", "arch", "device", "producer_device"),
	}
	for _, t := range promTotals {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "chessbrain", Name: t.name, Help: t.help, ConstLabels: labels})
		p.counters[t.name] = g
		p.registry.MustRegister(g)
	}
	p.registry.MustRegister(p.scalars, p.ends, p.results, p.plugins, p.events, p.alarms, p.info)
	return p
}

// Handle implements Sink.
func (p *Prom) Handle(e Event) error {
	p.events.WithLabelValues(e.Head().Type).Inc()
	_, scalars := Scalars(e)
	for _, s := range scalars {
		p.scalars.WithLabelValues(s.Tag).Set(s.Value)
	}
	switch e := e.(type) {
	case *Run:
		p.info.Reset()
		p.info.WithLabelValues(e.Version, e.Arch, e.Device, e.ProducerDevice).Set(1)
		p.set(values{"episodes": e.Episode, "steps": e.Step})
	case *Episode:
		p.set(values{"episodes": e.Episode, "queue_depth": int64(e.QueueDepth), "window_rows": e.WindowRows, "window_games": e.WindowGames})
		p.totals(e.Totals)
		p.games(e.Results, e.Ends)
	case *Step:
		p.set(values{"steps": e.Step, "samples": e.Samples, "entered": e.Entered, "skipped_steps": e.SkippedTotal,
			"queue_depth": int64(e.QueueDepth), "window_rows": e.WindowRows})
		p.totals(e.Totals)
	case *SelfPlay:
		p.totals(e.Totals)
		p.games(e.Results, e.Ends)
	case *Plugin:
		if e.State == PluginRunning {
			p.plugin(e)
		}
	case *Alarm:
		p.alarms.WithLabelValues(e.Code).Inc()
	}
	return nil
}

// plugin shows what a plugin did.
func (p *Prom) plugin(e *Plugin) {
	for what, n := range map[string]float64{
		"calls": float64(e.Calls), "games": float64(e.Games), "rows": float64(e.Rows), "bytes": float64(e.Bytes), "seconds": float64(e.Seconds),
		"rows_per_second": float64(e.RowsPerSecond), "mean_latency": float64(e.MeanLatency), "restarts": float64(e.Restarts), "quarantined": float64(e.Quarantined),
	} {
		p.plugins.WithLabelValues(e.Name, e.Kind, what).Set(n)
	}
}

// values are those of promTotals.
type values map[string]int64

func (p *Prom) set(all values) {
	for name, v := range all {
		p.counters[name].Set(float64(v))
	}
}

// games shows how games went.
func (p *Prom) games(r Results, ends map[string]int64) {
	for reason, n := range ends {
		p.ends.WithLabelValues(reason).Set(float64(n))
	}
	for result, n := range (values{"white": r.White, "draw": r.Draw, "black": r.Black}) {
		p.results.WithLabelValues(result).Set(float64(n))
	}
}

func (p *Prom) totals(t Totals) {
	p.set(values{"games_played": t.Games, "positions": t.Positions, "evaluations": t.Evaluations, "batches": t.Batches,
		"cache_hits": t.CacheHits, "cache_probes": t.CacheProbes})
}
