package exporting

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DryRun checks the configuration and says which nets would be exported, and
// where to. It creates nothing.
func DryRun(opt Options, w io.Writer) (err error) {
	x := &exporter{opt: opt, want: setup.ExportingOf(opt.Effective.Config), log: slog.New(slog.DiscardHandler)}
	if x.dir, _, err = setup.Layout(opt.Effective.Config); err != nil {
		return err
	}
	if x.stages, err = setup.LookAtExporter(opt.Effective, x.dir.Root, x.log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.stages.Close()) }()
	fmt.Fprintf(w, "%s\nexport (dry run: nothing is created)\nexporter %s, weights %s\n", opt.Effective.Format(), x.want.Exporter, x.want.Weights)
	x.stages.DescribeTo(w)
	for _, q := range x.plan() {
		all, err := sources(q.from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(w, "%s -> %s: %s\n", q.from, q.to, monitor.Count(len(all), "net"))
		for _, s := range all {
			at, err := q.has(s.name)
			if err != nil {
				return err
			}
			if at != "" {
				at = ", which is there already"
			}
			fmt.Fprintf(w, "  %s%s\n", s.name, at)
		}
	}
	free, err := fsx.FreeSpace(fsx.OS, fsx.NearestDir(x.dir.Root))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "disk: %d MiB may be used\n", free>>20)
	return err
}
