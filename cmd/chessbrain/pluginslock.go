package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/run/setup"
)

// lockFlags say which programs and which lock file.
type lockFlags struct {
	pluginFlags
	file string
}

func (f *lockFlags) bind(c *cobra.Command) {
	f.pluginFlags.bind(c)
	c.Flags().StringVar(&f.file, "file", "", "lock file (default: "+setup.LockFile+" of --run-dir)")
	bindJSON(c, "one JSON object a program")
}

// find returns where the lock file is, and the programs that are found where the flags say.
func (f *lockFlags) find() (path string, programs []host.Program, err error) {
	switch {
	case f.file != "":
		path = f.file
	case f.run != "":
		path = filepath.Join(f.run, setup.LockFile)
	default:
		return "", nil, usagef("--run-dir, --file: name a run or a lock file")
	}
	p, err := f.config()
	if err != nil {
		return "", nil, err
	}
	programs, err = host.Discover(host.Dirs(p.GetDir()))
	return path, programs, err
}

func newPluginsLock() *cobra.Command {
	var f lockFlags
	c := &cobra.Command{
		Use:   "lock --run-dir RUN | --file FILE",
		Short: "Write down which programs a run may start, by their SHA-256",
		Long: `Writes the names and SHA-256 of all programs that are found in the directories of --plugin-dir and
$CHESSBRAIN_PLUGIN_DIR into the run's ` + setup.LockFile + `, in place of what it held. From then on the run
starts no other program, and none that has changed since. Nothing is started. Another --file counts for no run by
itself.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path, programs, err := f.find()
			if err != nil {
				return err
			}
			if err := host.WriteLock(fsx.OS, path, programs); err != nil {
				return pathError(err)
			}
			lines := make([]host.LockLine, len(programs))
			for i, p := range programs {
				lines[i] = host.LockLine{Name: p.Name, State: host.LockYes, SHA256: p.SHA256, Path: p.Path}
			}
			end := fmt.Sprintf("%s: %s may be started", path, monitor.Count(len(programs), "program"))
			if len(programs) == 0 {
				end = path + ": no program was found, and none may be started"
			}
			return f.write(c, lines, end)
		},
	}
	f.bind(c)
	return c
}

func newPluginsVerify() *cobra.Command {
	var f lockFlags
	c := &cobra.Command{
		Use:   "verify --run-dir RUN | --file FILE",
		Short: "Hold the programs that are found against a lock file",
		Long: `Compares the programs of --plugin-dir and $CHESSBRAIN_PLUGIN_DIR with the run's ` + setup.LockFile + `: each
is locked, changed (another SHA-256), not locked, or, where only the file knows it, not found. Nothing is started.
The exit code is 3 where anything differs.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			path, programs, err := f.find()
			if err != nil {
				return err
			}
			lock, err := readLock(path)
			if err != nil {
				return err
			}
			if lock == nil {
				return usagef("there is no %s; chessbrain plugins lock writes it", path)
			}
			lines := lock.Compare(programs)
			var differ []string
			for _, l := range lines {
				if l.State != host.LockYes {
					differ = append(differ, l.Name+" ("+l.State+")")
				}
			}
			if len(differ) == 0 {
				return f.write(c, lines, fmt.Sprintf("%s: all %d programs are as they were locked", path, len(lines)))
			}
			return cmp.Or(f.write(c, lines, fmt.Sprintf("%s: %d of %d programs differ", path, len(differ), len(lines))),
				corruptf("%s differs: %s; to trust what is there, run chessbrain plugins lock", path, strings.Join(differ, ", ")))
		},
	}
	f.bind(c)
	return c
}

// readLock reads a lock file; nil where there is none.
func readLock(path string) (*host.Lock, error) {
	lock, err := host.ReadLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err = pathError(err); err != nil && !as[usageError](err) {
		err = corrupt(err)
	}
	return lock, err
}

// write prints lines, and as text a last one.
func (f *lockFlags) write(c *cobra.Command, lines []host.LockLine, end string) error {
	return answerLines(c, lines, func(out io.Writer, lines []host.LockLine) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.State, l.Name, l.SHA256, cmp.Or(l.Path, "-"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, end)
		return err
	})
}
