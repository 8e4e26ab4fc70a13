package exporting

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// stagingMark is that of the temporary directories in which an exporter's files are made.
const stagingMark = ".exporting"

// sources returns the nets that were handed over in a directory, each a directory too,
// oldest first. What has no net in it is nobody's hand-over and is left alone.
func sources(dir string) ([]run.NetFile, error) {
	names, err := fsx.Dirs(fsx.OS, dir)
	if err != nil {
		return nil, fmt.Errorf("look for nets: %w", err)
	}
	var all []run.NetFile
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(filepath.Join(path, setup.NetFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for nets: %w", err)
		}
		all = append(all, run.NetFile{Name: name, Path: path, Written: info.ModTime()})
	}
	run.SortNets(run.Dir{}, all)
	slices.Reverse(all)
	return all, nil
}

// takeAll exports what is in a queue. The error of a single net is kept, and the
// others go on; what ends the process is returned.
func (x *exporter) takeAll(ctx context.Context, q queue) error {
	all, err := sources(q.from)
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := errors.Join(ctx.Err(), x.process.Held()); err != nil {
			return err
		}
		x.page.Set(func(p *Page) { p.Stage, p.Net = "exporting", s.Name })
		err := x.take(ctx, q, s)
		x.page.Set(func(p *Page) { p.Stage, p.Net = "waiting", "" })
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if fatal(err) {
			return err
		}
		if err != nil && x.failed[s.Path] == nil { // said once
			x.log.Error("the net is not exported and stays where it is", "net", s.Path, "error", err)
		}
		delete(x.failed, s.Path)
		if err != nil {
			x.failed[s.Path] = err
		}
	}
	return nil
}

// fatal says whether an error is none of a single net.
func fatal(err error) bool {
	_, plugin := errors.AsType[*host.Error](err)
	_, space := errors.AsType[*fsx.SpaceError](err)
	return plugin || space || errors.Is(err, fsx.ErrSync)
}

// take exports one net and then takes it away.
func (x *exporter) take(ctx context.Context, q queue, s run.NetFile) error {
	at, err := q.has(s.Name)
	if err != nil {
		return err
	}
	if at != "" {
		x.log.Info("the net is there already", "net", s.Name, "at", at)
		x.done.Known = append(x.done.Known, s.Name)
		return fsx.RemoveDir(fsx.OS, s.Path)
	}
	n, err := x.make(ctx, q, s)
	if err != nil {
		return fmt.Errorf("export %s: %w", s.Path, err)
	}
	x.log.Info("net exported", "net", n.Name, "weights", n.Weights, "files", n.Files)
	x.process.Publish(&monitor.Net{Action: monitor.NetPublished, NetID: n.Name, Path: n.Files[len(n.Files)-1]})
	x.done.Nets = append(x.done.Nets, n)
	x.page.Set(func(p *Page) { p.Exported, p.Newest = p.Exported+1, n.Name })
	return fsx.RemoveDir(fsx.OS, s.Path)
}

// has returns the file of a net that came out of the queue before, "" = none.
func (q *queue) has(net string) (string, error) {
	for _, dir := range q.known {
		path := filepath.Join(dir, net+run.NetSuffix)
		if there, err := fsx.Exists(path); err != nil {
			return "", fmt.Errorf("look for net: %w", err)
		} else if there {
			return path, nil
		}
	}
	return "", nil
}

// make writes the files of a net into the queue's other end, that which the
// gatekeeper and self-play read last.
func (x *exporter) make(ctx context.Context, q queue, s run.NetFile) (n Net, err error) {
	net, meta, weights, err := x.read(s)
	if err != nil {
		return n, err
	}
	number := func(key string) uint64 {
		v, _ := strconv.ParseUint(meta[key], 10, 64) // not known: 0
		return v
	}
	c, err := train.StageCheckpoint(net, meta, stage.NetInfo{Name: s.Name, Step: number("step"), Samples: number("samples"), Rows: number("rows")})
	if err != nil {
		return n, err
	}
	n = Net{Name: s.Name, NetID: c.Net.ID, Weights: weights}
	staging := fsx.MarkedTemp(filepath.Join(q.to, s.Name), stagingMark)
	defer func() { err = errors.Join(err, fsx.RemoveForGood(fsx.OS, staging)) }()
	files, err := x.configured(ctx, c, staging)
	if err == nil && len(files) > 0 {
		err = n.publish(ctx, q, c, files)
	}
	if err != nil || x.stages.Exporter.Name() == safetensors {
		return n, err
	}
	plain, err := export.Definition(safetensors).MakeExporter(nil)
	if err == nil {
		files, err = plain.Export(ctx, c, staging)
	}
	if err == nil {
		err = n.publish(ctx, q, c, files)
	}
	return n, err
}

// safetensors is the exporter whose file the gatekeeper and self-play read.
const safetensors = "safetensors"

// configured has the configured exporter write its files. One that needs games
// where there are none yet, or that fails where it may, writes none.
func (x *exporter) configured(ctx context.Context, c *stage.Checkpoint, staging string) ([]string, error) {
	files, noGames, err := x.stages.Export(ctx, c, replay.DirGames(ctx, x.dir.Selfplay(), x.want.Window.Rows, x.want.Window.HeldOut, x.log), staging)
	plugin, failed := errors.AsType[*host.Error](err)
	switch name := x.stages.Exporter.Name(); {
	case noGames:
		x.log.Warn("there are no games yet: nothing is exported but "+safetensors, "exporter", name, "net", c.Net.Name, "error", err)
		return nil, nil
	case failed && x.want.Export.MayFail && name != safetensors:
		x.log.Error("nothing is exported but "+safetensors, "exporter", name, "net", c.Net.Name, "error", plugin)
		return nil, nil
	}
	return files, err
}

// publish copies files to where they belong, durably.
func (n *Net) publish(ctx context.Context, q queue, c *stage.Checkpoint, files []string) error {
	paths, _ := export.Published(q.to, files, c.Net)
	n.Files = append(n.Files, paths...)
	return export.Publish(ctx, fsx.OS, q.to, files, c.Net)
}

// read returns the weights that the configuration asks for.
func (x *exporter) read(s run.NetFile) (net *nn.Net, meta map[string]string, weights string, err error) {
	if x.want.Export.Averaged {
		net, meta, err = setup.ReadNetFile(filepath.Join(s.Path, setup.AverageFile))
		if !errors.Is(err, fs.ErrNotExist) {
			return net, meta, "swa", err
		}
		x.log.Warn("there are no averaged weights (training.swa.period is 0, or it has not passed yet): the raw ones are exported", "net", s.Name)
	}
	net, meta, err = setup.ReadNetFile(filepath.Join(s.Path, setup.NetFile))
	return net, meta, "raw", err
}
