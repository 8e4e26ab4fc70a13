package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/watch"
	"github.com/chessbrain/chessbrain/run/watch/screen"
)

// watchPlainEvery is how often the page is written where there is no terminal.
const watchPlainEvery = 10 * time.Second

// plainColumns and plainLines are the size of the page where there is no terminal.
const plainColumns, plainLines = 160, 50

func newWatch() *cobra.Command {
	var web string
	server := monitor.ServerOptions{}
	var tokenFile string
	var orders bool
	c := &cobra.Command{
		Use:   "watch [RUN...]",
		Short: "Watch a run: boards, progress and strength, in the terminal or in a browser",
		Long: `Shows a run while it works, or what it left: what it does and what limits it, games under way, the ladder.
In the terminal there are five pages: keys move through games, searches and curves, and can give orders, after a
question. Where there is no terminal the first page is printed every ten seconds. Nothing of the run is changed but
by orders, and any number may watch.

With --web ADDRESS it is a page for a browser instead. That has more: finished games move by move, what a net thinks
of a position, curves of the training. chessbrain train and run have the flag, too. With several runs the page is
the first one's, and compares it with the others.`,
		Example: "  chessbrain watch runs/a\n  chessbrain watch runs/a runs/b --web 127.0.0.1:8080",
		RunE: stoppable(func(c *cobra.Command, args []string) error {
			if orders && (web == "" || tokenFile == "") {
				return usagef("--web-control: needs --web and --metrics-token-file: anybody on this machine could stop the run")
			}
			if len(args) > 1 && web == "" {
				return usagef("%d runs: several are compared in a browser, with --web", len(args))
			}
			players, err := playDevice(c, "cpu", autoName)
			if err != nil {
				return err
			}
			var sources []*watch.Source
			if len(args) == 0 {
				args = []string{runArg(args)}
			}
			for _, root := range args {
				dir, _, err := setup.OpenDir(root)
				if err != nil {
					return usageError{err}
				}
				sources = append(sources, watch.New(watch.Options{Dir: dir, Players: players, Version: version(), Orders: orders}))
			}
			if web == "" {
				return errors.Join(watchText(c.Context(), c.InOrStdin(), c.OutOrStdout(), sources[0], args[0]), sources[0].Close())
			}
			if server.Token, err = readToken(tokenFile); err != nil {
				return usagef("--metrics-token-file: %w", err)
			}
			server.Addr = web
			address, end, err := serveWeb(server, sources...)
			if err != nil {
				return usagef("--web: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s shows %s; Ctrl-C ends it\n", address, strings.Join(args, ", "))
			<-c.Context().Done()
			return end()
		}),
	}
	f := c.Flags()
	f.StringVar(&web, "web", "", "address of a page for browsers, such as 127.0.0.1:8080")
	f.BoolVar(&orders, "web-control", false, "let the page's readers stop the run, have it saved and swap its stages; it also needs a token file")
	f.BoolVar(&server.Public, "metrics-public", false, "allow an address that other machines can reach; it also needs a token file")
	f.StringVar(&tokenFile, "metrics-token-file", "", "file whose first line a browser must have as ?token=...")
	return c
}

// serveWeb opens the page of a run, and of others beside it, which it closes with the page,
// and returns its address.
func serveWeb(o monitor.ServerOptions, runs ...*watch.Source) (address string, end func() error, err error) {
	page, err := watch.Handler(runs[0], runs[1:]...)
	if err != nil {
		return "", nil, err
	}
	server, err := monitor.Serve(o, page)
	if err != nil {
		return "", nil, err
	}
	address = "http://" + server.Addr.String() + "/"
	if o.Token != "" {
		address += "?token=..."
	}
	return address, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond) // those who watch do not end by themselves
		defer cancel()
		err := server.Close(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		for _, r := range runs {
			err = errors.Join(err, r.Close())
		}
		return err
	}, nil
}

// readToken returns the first line of a file, "" of none.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return "", err
	}
	token, _, _ := strings.Cut(string(data), "\n")
	if token = strings.TrimSpace(token); token == "" {
		return "", fmt.Errorf("%s: the first line is empty", path)
	}
	return token, nil
}

// watchText shows a run on a terminal until ctx ends, or writes it from time to time where
// out is none.
func watchText(ctx context.Context, in io.Reader, out io.Writer, source *watch.Source, name string) error {
	terminal, ok := out.(*console)
	keys, typed := in.(*os.File)
	if ok && typed && monitor.IsTerminal(terminal.file) {
		return screen.Show(ctx, keys, terminal.file, source, name)
	}
	for {
		if _, err := fmt.Fprintf(out, "%s\n\n", screen.Text(source, plainColumns, plainLines)); err != nil {
			return err
		}
		if run.Sleep(ctx, watchPlainEvery) != nil {
			return nil
		}
	}
}
