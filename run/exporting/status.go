package exporting

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
)

// role is the name of the exporter's lock and socket.
const role = "exporter"

// Page is one page of an exporter's state, as its control socket shows it.
type Page struct {
	Role     string   `json:"role"`
	Stage    string   `json:"stage"` // exporting or waiting
	Net      string   `json:"net,omitempty"`
	Exported int      `json:"exported"` // by this process
	Newest   string   `json:"newest,omitempty"`
	From     []string `json:"from"`
}

// listen opens the control socket.
func (x *exporter) listen(stop func()) (err error) {
	x.control, err = run.ListenRole(filepath.Join(x.dir.Root, "locks"), role, x.locks[len(x.locks)-1], run.Commands{
		Status: func() any { return x.page.Get() },
		Stop:   stop,
		Subscribe: func() (<-chan monitor.Event, func()) {
			s := x.bus.Subscribe(256)
			return s.Events(), s.Close
		},
		Swap: func(context.Context, run.Swap) error {
			return errors.New("an exporter's stages are exchanged by starting it again")
		},
	})
	return err
}
