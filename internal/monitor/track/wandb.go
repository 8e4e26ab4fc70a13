package track

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// wandb writes an offline run of Weights & Biases, which its program sync uploads:
//
//	<dir>/offline-run-<YYYYMMDD_HHMMSS>-<id>/run-<id>.wandb    the log of records
//	                                         files/            for what sync adds
//
// The time is that of the run's first event, UTC. A log that is written anew gets its name
// when it holds all that there is.
type wandb struct {
	opt     Options
	run     identity
	path    string
	to      string // where records go: path, or a name of their own beside it
	log     recordLog
	num     int64           // of the last record
	rows    int64           // written so far; also W&B's step of the next one
	defined map[string]bool // metrics
	summary map[string]string
	summed  int64 // rows that the last summary holds
	ended   bool
}

func (w *wandb) begin(run identity) error {
	id := run.ID[:8]
	dir := filepath.Join(w.opt.Wandb, "offline-run-"+run.Began.UTC().Format("20060102_150405")+"-"+id)
	if err := fsx.MkdirAll(fsx.OS, filepath.Join(dir, "files")); err != nil {
		return err
	}
	path := filepath.Join(dir, "run-"+id+".wandb")
	*w = wandb{opt: w.opt, run: run, path: path, to: path + ".next", log: newRecordLog(), defined: map[string]bool{}, summary: map[string]string{}}
	if err := os.RemoveAll(w.to); err != nil {
		return err
	}
	w.record(recordHeader, message{}.bytes(1, message{}.text(1, "chessbrain "+w.opt.Version)))
	var config message
	for _, name := range slices.Sorted(maps.Keys(w.opt.Settings)) {
		config = config.bytes(1, item(name, text(w.opt.Settings[name])))
	}
	w.record(recordRun, message{}.text(1, id).text(3, experiment).bytes(4, config).text(8, w.opt.Name).
		bytes(17, message{}.number(1, run.Began.Unix()).number(2, int64(run.Began.Nanosecond()))))
	return nil
}

func (w *wandb) add(r row) error {
	w.define(r.Axis, "")
	values := map[string]string{
		r.Axis: strconv.FormatInt(r.X, 10), "_step": strconv.FormatInt(w.rows, 10),
		"_timestamp": fmt.Sprintf("%.3f", float64(r.Time.UnixMilli())/1e3), "_runtime": fmt.Sprintf("%.3f", r.Time.Sub(w.run.Began).Seconds()),
	}
	for _, s := range r.Scalars {
		w.define(s.Tag, r.Axis)
		values[s.Tag] = strconv.FormatFloat(s.Value, 'g', -1, 64)
	}
	var history message
	for _, name := range slices.Sorted(maps.Keys(values)) {
		history = history.bytes(1, item(name, values[name]))
	}
	w.record(recordHistory, history.bytes(2, message{}.number(1, w.rows)))
	maps.Copy(w.summary, values)
	w.rows++
	if len(w.log.pending) < 1<<20 {
		return nil
	}
	return w.write()
}

// define says once what a metric is drawn over; axis "" = it is an axis itself.
func (w *wandb) define(name, axis string) {
	if w.defined[name] {
		return
	}
	w.defined[name] = true
	m := message{}.text(1, name)
	if axis != "" {
		m = m.text(4, axis).bytes(6, message{}.number(1, 1).number(3, 1)) // take the axis along; defined by name
	}
	w.record(recordMetric, m)
}

// flush writes the newest value of each metric as the summary, and at the end how the run
// ended. A run that works on is one that is not complete.
func (w *wandb) flush(state *monitor.Run, last bool) error {
	if w.summed < w.rows {
		var summary message
		for _, name := range slices.Sorted(maps.Keys(w.summary)) {
			summary = summary.bytes(1, item(name, w.summary[name]))
		}
		w.record(recordSummary, summary)
		w.summed = w.rows
	}
	if last && !w.ended {
		exit := message{}.number(3, 1) // not complete
		if state != nil && endStatus[state.Phase] != "" {
			exit = message{}.number(2, int64(state.Time.Sub(w.run.Began).Seconds()))
			if state.Phase == monitor.RunFailed {
				exit = exit.number(1, 1)
			}
		}
		w.record(recordExit, exit)
		w.record(recordFooter, nil)
		w.ended = true
	}
	if err := w.write(); err != nil || w.to == w.path {
		return err
	}
	w.to = w.path
	return os.Rename(w.path+".next", w.path)
}

func (w *wandb) output() string { return w.to }

func (w *wandb) write() error {
	err := appendTo(w.to, w.log.pending)
	w.log.pending = w.log.pending[:0]
	return err
}

// The kinds of records that are written, by their numbers in wandb_internal.Record.
const (
	recordHistory protowire.Number = 2
	recordSummary protowire.Number = 3
	recordMetric  protowire.Number = 12
	recordRun     protowire.Number = 17
	recordExit    protowire.Number = 18
	recordHeader  protowire.Number = 21
	recordFooter  protowire.Number = 22
)

// record appends a record with the next number.
func (w *wandb) record(kind protowire.Number, m message) {
	w.num++
	w.log.append(message{}.number(1, w.num).bytes(kind, m))
}

// item is a pair of a config, a summary or a row of history: the value is JSON.
func item(name, value string) message { return message{}.text(1, name).text(16, value) }

// message is an encoded protobuf message.
type message []byte

func (m message) number(field protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) bytes(field protowire.Number, b message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}
