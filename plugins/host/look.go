package host

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Look makes rescorers for a dry run: it starts no program. Built-in ones are those
// of the host. In the place of a program that is there, that nobody else can change
// and that the lock files allow stands a rescorer that refuses all games. Settings
// of a program stay unchecked: only the program knows them.
type Look struct{ Host *Host }

// Rescorer is Host.Rescorer without a start.
func (l Look) Rescorer(ctx context.Context, c stage.Choice) (stage.Rescorer, error) {
	p, err := l.Host.Find(c.Name)
	if err != nil {
		return nil, err
	}
	if p != nil {
		return idle(c.Name), nil
	}
	return l.Host.Rescorer(ctx, c)
}

// idle is a program that was not started, by its name.
type idle string

func (i idle) Name() string { return string(i) }

func (i idle) Rescore(context.Context, *record.Game) (*record.Game, error) {
	return nil, fmt.Errorf("rescorer %s was only looked at, not started", string(i))
}
