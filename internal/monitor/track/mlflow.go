package track

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// experiment is the experiment of all runs of this program, in MLflow and as project of W&B.
const experiment = "chessbrain"

// experimentID is the directory of the experiment in a store: a number, as MLflow gives
// them, that follows from the name.
var experimentID = func() string {
	sum := sha256.Sum256([]byte(experiment))
	return strconv.FormatUint(1e17+binary.BigEndian.Uint64(sum[:])%9e17, 10)
}()

// mlflow writes a run into a file store of MLflow:
//
//	<store>/<experiment id>/meta.yaml
//	<store>/<experiment id>/<run id>/meta.yaml
//	                                 params/<path of a setting>    its value
//	                                 tags/<name>                   its value
//	                                 metrics/<tag>                 lines "<ms since 1970> <value> <x>"
//	                                 artifacts/nets/<net>          hard links, on another disk copies
//
// MLflow takes every file below metrics for a metric. So the metrics of a run that is
// written anew are gathered beside it, in metrics.next, and take its place when all of
// them are there.
type mlflow struct {
	opt     Options
	run     identity
	dir     string // of the run
	metrics string // where lines go
	lines   map[string][]byte
	meta    string // as it was written last
}

// lineBytes are how much of a metric is kept before it is appended to its file.
const lineBytes = 1 << 16

func (m *mlflow) begin(run identity) error {
	store, err := filepath.Abs(m.opt.MLflow)
	if err != nil {
		return err
	}
	of := filepath.Join(store, experimentID)
	m.run, m.dir, m.lines, m.meta = run, filepath.Join(of, run.ID), map[string][]byte{}, ""
	m.metrics = m.in("metrics.next")
	if err := errors.Join(emptied(m.metrics), emptied(m.in("params.next")), fsx.MkdirAll(fsx.OS, m.in("artifacts"))); err != nil {
		return err
	}
	for name, value := range m.opt.Settings {
		if err := m.put("params.next", name, value); err != nil {
			return err
		}
	}
	if err := putInPlace(m.in("params"), m.in("params.next")); err != nil {
		return err
	}
	meta := filepath.Join(of, "meta.yaml")
	if there, err := fsx.Exists(meta); there || err != nil {
		return err // its name and its tags are the user's
	}
	began := strconv.FormatInt(run.Began.UnixMilli(), 10)
	return fsx.WriteFile(fsx.OS, meta, yaml(map[string]string{
		"artifact_location": text(fileURI(of)), "creation_time": began, "experiment_id": text(experimentID),
		"last_update_time": began, "lifecycle_stage": "active", "name": experiment,
	}))
}

// in is a path in the run's directory.
func (m *mlflow) in(name string) string { return filepath.Join(m.dir, name) }

// file is the file of a name in a directory, which is made, with those in the name.
func file(dir, name string) (string, error) {
	path := filepath.Join(dir, filepath.FromSlash(legal(name)))
	return path, fsx.MkdirAll(fsx.OS, filepath.Dir(path))
}

// put writes a parameter or a tag.
func (m *mlflow) put(kind, name, value string) error {
	path, err := file(m.in(kind), name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(value), 0o666)
}

func (m *mlflow) add(r row) error {
	for _, s := range r.Scalars {
		lines := append(strconv.AppendInt(m.lines[s.Tag], r.Time.UnixMilli(), 10), ' ')
		lines = append(strconv.AppendFloat(lines, s.Value, 'g', -1, 64), ' ')
		lines = append(strconv.AppendInt(lines, r.X, 10), '\n')
		m.lines[s.Tag] = lines
		if len(lines) >= lineBytes {
			if err := m.append(s.Tag); err != nil {
				return err
			}
		}
	}
	return nil
}

// append moves the lines of a metric to its file.
func (m *mlflow) append(tag string) error {
	path, err := file(m.metrics, tag)
	if err != nil {
		return err
	}
	err = appendTo(path, m.lines[tag])
	m.lines[tag] = m.lines[tag][:0]
	return err
}

func (m *mlflow) flush(state *monitor.Run, _ bool) error {
	for _, tag := range slices.Sorted(maps.Keys(m.lines)) {
		if len(m.lines[tag]) > 0 {
			if err := m.append(tag); err != nil {
				return err
			}
		}
	}
	if whole := m.in("metrics"); m.metrics != whole {
		if err := putInPlace(whole, m.metrics); err != nil {
			return err
		}
		m.metrics = whole
	}
	if err := m.link(); err != nil {
		return err
	}
	return m.describe(state)
}

func (m *mlflow) output() string { return m.metrics }

// endStatus are MLflow's numbers of how a run ended; mlflowRunning is that of one that
// did not, and mlflowLocal that of a program which was started by hand.
var endStatus = map[string]string{monitor.RunDone: "3", monitor.RunFailed: "4", monitor.RunStopped: "5"}

const mlflowRunning, mlflowLocal = "1", "4"

// describe writes meta.yaml and the tags, unless they are as they were. The name that a
// user gave the run in MLflow stays.
func (m *mlflow) describe(state *monitor.Run) error {
	name := m.opt.Name
	if given, err := fsx.ReadFile(fsx.OS, filepath.Join(m.in("tags"), "mlflow.runName")); err == nil {
		name = string(given)
	}
	status, end := mlflowRunning, "null"
	if state != nil && endStatus[state.Phase] != "" {
		status, end = endStatus[state.Phase], strconv.FormatInt(state.Time.UnixMilli(), 10)
	}
	meta := string(yaml(map[string]string{
		"artifact_uri": text(fileURI(m.in("artifacts"))), "deleted_time": "null", "end_time": end, "entry_point_name": "''",
		"experiment_id": text(experimentID), "lifecycle_stage": "active", "run_id": text(m.run.ID), "run_name": text(name),
		"run_uuid": text(m.run.ID), "source_name": "''", "source_type": mlflowLocal, "source_version": "''",
		"start_time": strconv.FormatInt(m.run.Began.UnixMilli(), 10), "status": status, "tags": "[]", "user_id": "''",
	}))
	if meta == m.meta {
		return nil
	}
	for tag, value := range map[string]string{"mlflow.runName": name, "mlflow.source.name": experiment, "mlflow.source.type": "LOCAL"} {
		if err := m.put("tags", tag, value); err != nil {
			return err
		}
	}
	m.meta = meta
	return fsx.WriteFile(fsx.OS, m.in("meta.yaml"), []byte(meta))
}

// link makes the artifacts the run's nets of now: a net that the run removed goes, too.
func (m *mlflow) link() error {
	if m.opt.Nets == nil {
		return nil
	}
	nets, err := m.opt.Nets()
	if err != nil {
		return err
	}
	dir := filepath.Join(m.in("artifacts"), "nets")
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, net := range nets {
		kept[filepath.Base(net)] = true
		err := sameFile(net, filepath.Join(dir, filepath.Base(net)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the run has removed it since
			return err
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range there {
		if !kept[e.Name()] && e.Type().IsRegular() && filepath.Ext(e.Name()) == m.opt.NetSuffix { // others are the user's
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameFile makes a file the link of another, or its copy where they are on two disks. A
// copy of the same size that is not older is taken for one.
func sameFile(from, to string) error {
	want, err := os.Stat(from)
	if err != nil {
		return err
	}
	have, err := os.Stat(to)
	switch {
	case err == nil && (os.SameFile(want, have) || have.Size() == want.Size() && !have.ModTime().Before(want.ModTime())):
		return nil
	case err == nil:
		if err := os.Remove(to); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return fsx.LinkOrCopy(from, to)
}

// illegal are the characters that no name of a metric or parameter may have: MLflow takes
// letters, digits, and / _ . - and blanks.
var illegal = regexp.MustCompile(`[^/\w.\- ]`)

// legal makes a name one that MLflow takes, which is also a path below a directory.
func legal(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+illegal.ReplaceAllString(name, "_")), "/")
	return name[:min(len(name), 250)]
}

// yaml writes a map, whose values are in YAML, in the order of its keys.
func yaml(values map[string]string) []byte {
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = fmt.Appendf(out, "%s: %s\n", key, values[key])
	}
	return out
}

// text is a text in JSON, which YAML takes, too.
func text(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // of a text there is none
	}
	return string(quoted)
}

// fileURI is the address of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
