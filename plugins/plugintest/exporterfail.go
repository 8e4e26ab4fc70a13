package plugintest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// failure is a checkpoint or a place that cannot be exported.
type failure struct {
	what  string
	names string                           // that the error must contain; "" = anything
	is    error                            // that it must wrap; nil = anything
	run   func(st Stage, dst string) error // the export; returns its error
}

// fails makes exports that must fail, each into an empty directory and over the
// files of a good one.
func (e *exporting) fails(st Stage, root string) error {
	file := filepath.Join(root, "file")
	if err := fsx.WriteFile(st.FS, file, []byte("in the way")); err != nil {
		return err
	}
	for i, f := range e.failures(filepath.Join(file, "out")) {
		for _, over := range []bool{false, true} {
			dst := filepath.Join(root, fmt.Sprint(i, over), "out")
			if over {
				if _, err := e.export(st, e.checkpoint(0), dst); err != nil {
					return err
				}
			}
			if err := e.failsAs(st, root, dst, f); err != nil {
				return fmt.Errorf("%s: %w", f.what, err)
			}
		}
	}
	_, err := e.export(st, e.checkpoint(0), filepath.Join(root, "last"))
	return err
}

// failsAs makes one export that must fail: the error is as it should be, and
// below root are the files that were there before, whole, and no others.
func (e *exporting) failsAs(st Stage, root, dst string, f failure) error {
	before, err := tree(st.FS, root)
	if err != nil {
		return err
	}
	err = f.run(st, dst)
	switch {
	case err == nil:
		return errors.New("the export succeeded")
	case f.is != nil && !errors.Is(err, f.is):
		return fmt.Errorf("error %q, want one that wraps %q", err, f.is)
	case !strings.Contains(err.Error(), f.names):
		return fmt.Errorf("error %q does not say %q", err, f.names)
	}
	after, err := tree(st.FS, root)
	if err != nil {
		return err
	}
	return compareFiles(after, before)
}

// failures lists what cannot be exported. below is a directory that cannot be made.
func (e *exporting) failures(below string) []failure {
	changed := func(what, names string, change func(*stage.Checkpoint)) failure {
		return failure{what: what, names: names, run: func(st Stage, dst string) error {
			c := e.checkpoint(0)
			change(c)
			_, err := st.Exporter.Export(e.ctx, c, dst)
			return err
		}}
	}
	all := []failure{
		{what: "a context that is over", is: context.Canceled, run: func(st Stage, dst string) error {
			_, err := st.Exporter.Export(e.canceled(), e.checkpoint(0), dst)
			return err
		}},
		changed("a net name that leads out of the directory", "", func(c *stage.Checkpoint) { c.Net.Name = "../escaped" }),
		changed("a net name with a directory", "", func(c *stage.Checkpoint) { c.Net.Name = "below/net" }),
		changed("a net without a name", "", func(c *stage.Checkpoint) { c.Net.Name = "" }),
		{what: "a directory below a file", run: func(st Stage, _ string) error {
			_, err := st.Exporter.Export(e.ctx, e.checkpoint(0), below)
			return err
		}},
	}
	if e.games == nil {
		return append(all,
			changed("an architecture that is none", "", func(c *stage.Checkpoint) { c.Arch = []byte("no architecture") }),
			changed("a tensor that is missing", "", func(c *stage.Checkpoint) { c.Tensors = c.Tensors[:len(c.Tensors)-1] }))
	}
	return append(all,
		changed("no games to be had", "games", func(c *stage.Checkpoint) { c.Games = nil }),
		changed("games that cannot be read", errUnreadable.Error(), func(c *stage.Checkpoint) {
			c.Games = func(yield func(*record.Game, error) bool) {
				if yield(e.games[0], nil) {
					yield(nil, errUnreadable)
				}
			}
		}),
		failure{what: "a context that ends while the games are read", is: context.Canceled, run: e.cancelAmongGames})
}

// errUnreadable stands for what a damaged window says.
var errUnreadable = errors.New("plugintest: this game cannot be read")

// cancelAmongGames takes the context away when the first game is asked for.
func (e *exporting) cancelAmongGames(st Stage, dst string) error {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	c := e.checkpoint(0)
	c.Games = func(yield func(*record.Game, error) bool) {
		for _, g := range e.games {
			cancel()
			if !yield(g, nil) {
				return
			}
		}
	}
	_, err := st.Exporter.Export(ctx, c, dst)
	return err
}
