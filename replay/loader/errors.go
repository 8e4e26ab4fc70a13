package loader

import (
	"errors"
	"fmt"
)

// ErrStarted says that state was loaded into a Loader that runs already.
var ErrStarted = errors.New("the loader has started")

// ErrDataEnded says that no more data will come: nobody watches for new files.
var ErrDataEnded = errors.New("the data have ended")

// ErrStop is in the error of a rescorer that no chunk is to blame for, such as a
// plugin that was given up. It ends the loader, which else would quarantine one
// chunk after the other.
var ErrStop = errors.New("the rescorer works no more")

// ConfigError is a fault of the graph's configuration.
type ConfigError struct {
	Index  int    // of the stage in Config.Stages; -1 = of Config.Outputs or the graph as a whole
	Stage  string // its name, as far as it has one
	Reason string // what is wrong
	Remedy string // what to do
}

func (e *ConfigError) Error() string {
	where := "data_loader"
	switch {
	case e.Stage != "":
		where = fmt.Sprintf("data_loader: stage %q", e.Stage)
	case e.Index >= 0:
		where = fmt.Sprintf("data_loader: stage number %d", e.Index+1)
	}
	if e.Remedy == "" {
		return where + ": " + e.Reason
	}
	return where + ": " + e.Reason + "; " + e.Remedy
}

// StageError is what ended a stage.
type StageError struct {
	Stage string
	Err   error
}

func (e *StageError) Error() string { return fmt.Sprintf("loader stage %q: %v", e.Stage, e.Err) }

// Unwrap returns the cause.
func (e *StageError) Unwrap() error { return e.Err }
