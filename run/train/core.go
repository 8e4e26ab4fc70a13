package train

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// core is what every part of a training knows: how it was started, where it lies, how
// far it is, and whom it tells.
type core struct {
	opt      Options
	cfg      setup.Training // its export changes with a swap of stages
	dir      run.Dir
	info     run.RunInfo
	log      *slog.Logger
	process  *run.Process // nil before prepareDir
	began    time.Time
	stages   *setup.Stages
	trainer  *trainer.Trainer
	rows     Rows
	pace     Pace
	ledger   *ledger // of the games that enter
	state    State
	savedAt  time.Time // when the newest checkpoint was written
	page     statusPage
	initial  *nn.Net // what the run began with
	numSwaps int     // of stages, by this process; the swapper's goroutine alone
}

// netName is the name of the weights as they are now.
func (c *core) netName() string {
	return fmt.Sprintf("%s-%s-s%d-d%d", c.info.Job, c.dir.Training, c.trainer.NumSamples(), c.state.Rows)
}

// metadata goes into net files.
func (c *core) metadata(weights string) map[string]string {
	return map[string]string{
		"net": c.netName(), "weights": weights, "job": c.info.Job, "step": strconv.FormatInt(c.trainer.NumSteps(), 10),
		"samples": strconv.FormatInt(c.trainer.NumSamples(), 10), "rows": strconv.FormatInt(c.state.Rows, 10),
		"program": "chessbrain " + c.opt.Version,
	}
}

// tellNet tells what became of a net, at a path or "".
func (c *core) tellNet(action, name, path string) {
	c.process.Publish(&monitor.Net{Action: action, NetID: name, Path: path,
		Step: c.trainer.NumSteps(), Episode: c.state.Episodes, Samples: c.trainer.NumSamples()})
}

// alarm reports something that a person should look at.
func (c *core) alarm(code, message, remedy string) {
	c.process.Publish(&monitor.Alarm{Code: code, Severity: "error", Message: message, Remedy: remedy,
		Step: c.trainer.NumSteps(), Episode: c.state.Episodes})
}
