package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// exporting is an exporter's part of the suite.
type exporting struct {
	*suite
	games []*record.Game    // nil where the exporter does not ask for games
	want  map[string][]byte // the files of checkpoint 0 by name
}

// exporter makes the checks of exporters.
func (c *suite) exporter() {
	e := &exporting{suite: c, games: c.gamesAsked()}
	c.do("the files that it names are in the directory, and no others", func() error { return e.within(e.files) })
	if e.want == nil {
		return // nothing to compare with
	}
	c.doDeterministic("one checkpoint gives the same bytes twice", func() error { return e.within(e.again) })
	c.do("files are on stable storage when the export returns", func() error { return e.within(e.durable) })
	c.do("a second export replaces the first", func() error { return e.within(e.replaces) })
	c.do("a failed export leaves nothing, and earlier files whole", func() error { return e.within(e.fails) })
	c.do("exports at the same time do not disturb each other", func() error { return e.within(e.concurrent) })
}

// checkpoint returns the n-th checkpoint of the suite.
func (e *exporting) checkpoint(n uint64) *stage.Checkpoint { return Checkpoint(e.seed+n, e.games) }

// within makes an instance and an empty directory on its file system.
func (e *exporting) within(fn func(st Stage, root string) error) error {
	return e.with(func(st Stage) error {
		if st.FS != nil {
			return errors.Join(fsx.MkdirAll(st.FS, "/plugintest"), fn(st, "/plugintest"))
		}
		st.FS = fsx.OS
		root, err := os.MkdirTemp("", "plugintest")
		if err != nil {
			return err
		}
		return errors.Join(fn(st, root), os.RemoveAll(root))
	})
}

// export writes a checkpoint into dst, holds what the exporter says against what
// is there, and returns the files by name.
func (e *exporting) export(st Stage, c *stage.Checkpoint, dst string) (map[string][]byte, error) {
	paths, err := st.Exporter.Export(e.ctx, c, dst)
	if err != nil {
		return nil, err
	}
	var named []string
	for _, path := range paths {
		name := filepath.Base(path)
		if filepath.Clean(path) != filepath.Join(dst, name) || fsx.IsTemp(name) || name[0] == '.' {
			return nil, fmt.Errorf("path %q: want a plain name in %s", path, dst)
		}
		named = append(named, name)
	}
	files, err := tree(st.FS, dst)
	if err != nil {
		return nil, err
	}
	slices.Sort(named)
	if there := slices.Sorted(maps.Keys(files)); !slices.Equal(named, there) || len(named) == 0 {
		return nil, fmt.Errorf("it names %q, in the directory are %q", named, there)
	}
	for name, data := range files {
		if len(data) == 0 {
			return nil, fmt.Errorf("file %s is empty", name)
		}
	}
	return files, nil
}

// tree returns the files below a directory by their paths from there. One that
// does not exist has none.
func tree(fsys fsx.FS, dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !entry.IsDir() {
			if files[entry.Name()], err = fsx.ReadFile(fsys, path); err != nil {
				return nil, err
			}
			continue
		}
		below, err := tree(fsys, path)
		if err != nil {
			return nil, err
		}
		for name, data := range below {
			files[filepath.Join(entry.Name(), name)] = data
		}
	}
	return files, nil
}

// compareFiles says in which file two sets differ.
func compareFiles(got, want map[string][]byte) error {
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		return fmt.Errorf("files %q, want %q", a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(got[name], want[name]) {
			return fmt.Errorf("file %s: other bytes (%d, want %d)", name, len(got[name]), len(want[name]))
		}
	}
	return nil
}

// files exports once, keeps the output and looks whether the checkpoint is as it
// was.
func (e *exporting) files(st Stage, root string) error {
	c := e.checkpoint(0)
	files, err := e.export(st, c, filepath.Join(root, "made", "on", "demand"))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		e.keep("file "+name, files[name])
	}
	before := e.checkpoint(0)
	if netOf(c).ID() != before.Net.ID || c.Net != before.Net || !bytes.Equal(c.Arch, before.Arch) || !reflect.DeepEqual(c.Metadata, before.Metadata) {
		return errors.New("the checkpoint was changed")
	}
	for i, again := range e.gamesAsked() {
		if !bytes.Equal(mustEncode(e.games[i]), mustEncode(again)) {
			return fmt.Errorf("game %d was changed", i)
		}
	}
	e.want = files
	return nil
}

// gamesAsked makes the suite's games for an exporter that asks for games.
func (c *suite) gamesAsked() []*record.Game {
	if !c.s.Definition.Has(stage.NeedsGames) {
		return nil
	}
	return append(Games(c.seed, 40), EdgeGames(c.seed)...)
}

// again exports the same checkpoint with another instance.
func (e *exporting) again(st Stage, root string) error {
	files, err := e.export(st, e.checkpoint(0), root)
	if err != nil {
		return err
	}
	return compareFiles(files, e.want)
}

// durable cuts the power after an export, where that can be done.
func (e *exporting) durable(st Stage, root string) error {
	if st.CutPower == nil {
		return notHere("the power of this file system cannot be cut")
	}
	dst := filepath.Join(root, "out")
	files, err := e.export(st, e.checkpoint(0), dst)
	if err != nil {
		return err
	}
	st.CutPower()
	after, err := tree(st.FS, dst)
	if err != nil {
		return err
	}
	return compareFiles(after, files)
}

// replaces exports twice into one directory.
func (e *exporting) replaces(st Stage, root string) error {
	if _, err := e.export(st, e.checkpoint(0), root); err != nil {
		return err
	}
	files, err := e.export(st, e.checkpoint(0), root)
	if err == nil && e.s.Definition.Has(stage.Deterministic) {
		err = compareFiles(files, e.want)
	}
	return err
}

// concurrent exports several checkpoints at once, as many as the description
// allows, and compares with single exports.
func (e *exporting) concurrent(st Stage, root string) error {
	n := e.concurrency()
	errs, made := make([]error, n), make([]map[string][]byte, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			made[i], errs[i] = e.export(st, e.checkpoint(uint64(i)), filepath.Join(root, fmt.Sprint("together", i)))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || !e.s.Definition.Has(stage.Deterministic) {
		return err
	}
	for i := range n {
		alone, err := e.export(st, e.checkpoint(uint64(i)), filepath.Join(root, fmt.Sprint("alone", i)))
		if err == nil {
			err = compareFiles(made[i], alone)
		}
		if err != nil {
			return fmt.Errorf("checkpoint %d: %w", i, err)
		}
	}
	return nil
}

// Checkpoint returns a small net with seeded weights as an exporter sees it.
// games are what it has of them; nil = none to be had.
func Checkpoint(seed uint64, games []*record.Game) *stage.Checkpoint {
	arch := nn.Tower(16, 1)
	net := nn.Init(arch, seed)
	text, err := json.Marshal(arch)
	if err != nil {
		panic(err) // a plain struct of numbers and texts
	}
	c := &stage.Checkpoint{
		Net: stage.NetInfo{
			Name: fmt.Sprintf("plugintest-main-s%d-d%d", 64+seed%1000, 128+seed%1000), ID: net.ID(),
			Step: 4, Samples: 64 + seed%1000, Rows: 128 + seed%1000,
		},
		Arch:     text,
		Metadata: map[string]string{"license": "test", "note": "made from a seed: ünïcode"},
	}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor(p))
	}
	if games != nil {
		c.Games = func(yield func(*record.Game, error) bool) {
			for _, g := range games {
				if !yield(g, nil) {
					return
				}
			}
		}
	}
	return c
}

// netOf returns a checkpoint's net, for its ID.
func netOf(c *stage.Checkpoint) *nn.Net {
	n := &nn.Net{}
	for _, t := range c.Tensors {
		n.Params = append(n.Params, nn.Param(t))
	}
	return n
}
