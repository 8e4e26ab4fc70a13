package ratings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

// UpdateOptions of Update.
type UpdateOptions struct {
	Rebuild bool         // read every net and log again; else those that have not changed are taken from the old catalogue
	Log     *slog.Logger // told of what cannot be read; nil = nobody
}

// Update brings the catalogue of the run at root up to date and returns it. What
// cannot be read is no error: the catalogue says so. The run may be at work.
func Update(ctx context.Context, root string, opt UpdateOptions) (*catalogue.Catalogue, error) {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	path := run.Dir{Root: root}.Catalogue()
	old := &catalogue.Catalogue{}
	if !opt.Rebuild {
		c, err := catalogue.Read(fsx.OS, path)
		switch {
		case err == nil:
			old = c
		case errors.Is(err, catalogue.ErrOther):
			opt.Log.Warn("the catalogue is made anew", "reason", err)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("ratings: %s is not a run directory; name one", root)
	}
	s, c := &scanner{ctx, run.Dir{Root: root}, old, opt.Log}, &catalogue.Catalogue{}
	var err error
	if c.Nets, err = s.nets(); err != nil {
		return nil, err
	}
	if c.Matches, err = s.matches(); err != nil {
		return nil, err
	}
	c.Published = s.published()
	if c.Ratings, err = rate(c); err != nil {
		return nil, err
	}
	if _, err := c.Write(fsx.OS, path); err != nil {
		return nil, err
	}
	return c, nil
}

// Refresh is Update for a part of the run whose own work is done, such as a
// decision of the gatekeeper: the catalogue is an index, so an error is said and the
// next update mends it.
func Refresh(root string, log *slog.Logger) {
	if _, err := Update(context.Background(), root, UpdateOptions{}); err != nil {
		log.Warn("the catalogue is behind; chessbrain ratings brings it up to date", "run", root, "error", err)
	}
}

// scanner reads a run directory.
type scanner struct {
	ctx context.Context
	dir run.Dir
	old *catalogue.Catalogue // whose rows of unchanged files are taken over
	log *slog.Logger
}
