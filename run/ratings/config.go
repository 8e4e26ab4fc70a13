package ratings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run"
)

// ConfigOf returns the configuration of the newest start of the run at root, with
// its section loop.rating changed; the defaults where there was none. Flags, nil or
// some, win over it. A run directory is data, which may be another user's: a program
// that its configuration names is not started. left is the engine in it, unless change
// names one.
func ConfigOf(root string, flags *config.FlagSet, change func(*config.Rating)) (e *config.Effective, left string, err error) {
	path, read := run.Dir{Root: root}.ConfigFile(), config.Load
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		read = func(path string) (*config.File, error) {
			return config.Parse(path, fmt.Appendf(nil, "run_dir: %q", root))
		}
	}
	file, err := read(path)
	if err != nil {
		return nil, "", err
	}
	c := file.Config
	c.RunDir = &root
	if c.Loop == nil {
		c.Loop = &config.Loop{}
	}
	if c.Loop.Rating == nil {
		c.Loop.Rating = &config.Rating{}
	}
	k := c.Loop.Rating
	engine, nodes, skill := k.Engine, k.EngineNodes, k.EngineSkill
	k.Engine, k.EngineNodes, k.EngineSkill = nil, nil, nil
	if c.Plugins != nil {
		c.Plugins.Dir = nil
	}
	change(k)
	if k.Engine == nil && engine != nil {
		left = *engine
	}
	if k.Engine != nil { // the command names it; what it does not say of its strength is the run's
		if k.EngineNodes == nil {
			k.EngineNodes = nodes
		}
		if k.EngineSkill == nil {
			k.EngineSkill = skill
		}
	}
	e, err = config.Resolve(config.Input{File: file, Flags: flags})
	return e, left, err
}
