package cycle

import (
	"context"
	"errors"
	"io/fs"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/ratings"
)

// rating plays the rating matches that are missing and rates everybody.
func (r *runner) rating(ctx context.Context, _ Todo) (skip string, err error) {
	_, err = ratings.Play(ctx, ratings.Options{Effective: r.e, Command: r.opt.Command, Version: r.opt.Version, Log: r.log, Publish: r.bus.Publish})
	return "", err
}

// readCatalogue returns the index of the run at root, nil where there is none.
func readCatalogue(root string) (*catalogue.Catalogue, error) {
	c, err := catalogue.Read(fsx.OS, run.Dir{Root: root}.Catalogue())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, err
}

// rated adds the figures of the newest accepted net in the rating list.
func rated(root string, figures map[string]float64) error {
	c, err := readCatalogue(root)
	if c == nil || err != nil {
		return err
	}
	figures[FigureNets] = float64(len(c.Ratings))
	newest := newestNet(root)
	for _, r := range c.Ratings {
		if r.Name == newest {
			figures[FigureElo], figures[FigureEloError] = r.Elo, r.Error
		}
	}
	return nil
}

// readRatings returns the rating list of the run at root.
func readRatings(root string) (list []RatingStatus, err error) {
	c, err := readCatalogue(root)
	if c == nil || err != nil {
		return nil, err
	}
	for _, r := range c.Ratings {
		list = append(list, RatingStatus{Name: r.Name, Elo: r.Elo, Error: r.Error, Games: r.Games})
	}
	return list, nil
}
