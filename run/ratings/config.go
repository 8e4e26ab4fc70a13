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
// some, win over it.
func ConfigOf(root string, flags *config.FlagSet, change func(*config.Rating)) (*config.Effective, error) {
	path, read := run.Dir{Root: root}.ConfigFile(), config.Load
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		read = func(path string) (*config.File, error) {
			return config.Parse(path, fmt.Appendf(nil, "run_dir: %q", root))
		}
	}
	file, err := read(path)
	if err != nil {
		return nil, err
	}
	c := file.Config
	c.RunDir = &root
	if c.Loop == nil {
		c.Loop = &config.Loop{}
	}
	if c.Loop.Rating == nil {
		c.Loop.Rating = &config.Rating{}
	}
	change(c.Loop.Rating)
	return config.Resolve(config.Input{File: file, Flags: flags})
}
