package retain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/setup"
)

// netsIn returns the net files of a directory, newest first. A directory that is
// not there has none, and a link is left alone: its file is kept by somebody else.
func netsIn(d run.Dir, dir string) ([]run.NetFile, error) {
	nets, err := run.ListNets(d, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(nets, func(n run.NetFile) bool { return n.Linked }), err
}

// pruneRejected removes rejected nets but the newest. Their results stay.
func (g *collector) pruneRejected() error {
	nets, err := netsIn(g.dir, g.dir.Rejected())
	if err != nil {
		return err
	}
	keep := g.opt.Keep.Rejected
	for _, n := range nets[min(keep, len(nets)):] {
		if err := g.removeNet(ClassRejected, n, fmt.Sprintf("older than the newest %d", keep)); err != nil {
			return err
		}
	}
	return nil
}

// pruneModels removes accepted nets but the newest, the first, against which the
// others are rated, the best, and those that a trainer published itself, which
// export.keep is for.
func (g *collector) pruneModels() error {
	keep := g.opt.Keep.Models
	if keep == 0 {
		return nil
	}
	nets, err := netsIn(g.dir, g.dir.Models())
	if err != nil {
		return err
	}
	best, err := g.bestNet(nets)
	if err != nil {
		g.note("%s: the best net is not known: %v; chessbrain ratings %s makes the catalogue anew", inRun.Models(), err, g.opt.Root)
		return nil
	}
	published, err := run.PublishedFiles(g.opt.Root)
	if err != nil {
		g.note("%s: which nets trainers published is not known: %v", inRun.Models(), err)
		return nil
	}
	for i, n := range nets {
		held := ""
		switch {
		case i < keep:
			continue
		case i == len(nets)-1:
			held = "it is the first net"
		case n.Name == best:
			held = "it is the best net"
		case slices.Contains(published, n.Path):
			held = "a trainer published it: export.keep is for it"
		}
		if held != "" {
			g.note("%s/%s: %s", inRun.Models(), filepath.Base(n.Path), held)
			continue
		}
		if err := g.removeNet(ClassModel, n, fmt.Sprintf("older than the newest %d", keep)); err != nil {
			return err
		}
	}
	return nil
}

// bestNet is the net with the highest rating in the run's catalogue, "" where
// there is no catalogue.
func (g *collector) bestNet(nets []run.NetFile) (best string, err error) {
	c, err := catalogue.Read(fsx.OS, g.dir.Catalogue())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	elo := 0.0
	for _, n := range nets {
		if r, ok := c.Rating(n.Name); ok && (best == "" || r.Elo > elo) {
			best, elo = n.Name, r.Elo
		}
	}
	return best, nil
}

// removeNet removes a net that says it is of this run, and what an exporter wrote
// beside it.
func (g *collector) removeNet(class Class, n run.NetFile, reason string) error {
	_, meta, err := setup.ReadNetFile(n.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.note("%s: %v", g.dir.Shorten(n.Path), err)
		return nil
	}
	if err != nil || meta["job"] != g.job {
		g.note("%s: it does not say that job %s made it", g.dir.Shorten(n.Path), g.job)
		return nil
	}
	paths := []string{n.Path}
	for _, suffix := range []string{".pb.gz", ".onnx", ".pgn", ".npz"} { // of other exporters than safetensors
		paths = append(paths, strings.TrimSuffix(n.Path, run.NetSuffix)+suffix)
	}
	return g.removeFiles(class, reason, paths...)
}

// prunePGNs removes the games of old gatekeeper matches. Their logs and results
// stay: the catalogue is made of them.
func (g *collector) prunePGNs() error {
	keep := g.opt.Keep.GatePGNs
	if keep == 0 {
		return nil
	}
	matches, err := gate.Played(g.dir.Gates())
	if err != nil {
		return err
	}
	for _, m := range matches[min(keep, len(matches)):] {
		path := filepath.Join(g.dir.Gates(), m.Candidate, gate.GamesName)
		if err := g.removeFiles(ClassPGN, fmt.Sprintf("older than the newest %d matches", keep), path); err != nil {
			return err
		}
	}
	return nil
}
