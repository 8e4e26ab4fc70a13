package plugins

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Serve is the whole main of a plugin. s is a *stage.Definition, or a bare
// stage.Rescorer, stage.Sampler or stage.Exporter, whose definition has its Name
// and no settings. Serve does not return: it exits with 0 when the host has ended
// the plugin, 1 after a failure and 2 where the program was used wrongly.
//
// The process ends with its host, also where that is killed; on SIGTERM; not on
// SIGINT, which a terminal sends to the host too, who decides. log/slog's default
// logger writes into the host's log. Standard output and standard error may be
// printed to: both go into the log.
func Serve(s any) {
	os.Exit(run(s, os.Args, os.Stdout, os.Stderr))
}

// run is Serve up to the exit code.
func run(s any, args []string, stdout, stderr io.Writer) int {
	d, err := definitionOf(s)
	if err != nil {
		fmt.Fprintf(stderr, "plugins.Serve: %s\n", err)
		return 1
	}
	switch {
	case len(args) == 2 && args[1] == "--describe":
		text, err := api.DescribeJSON(d)
		if err != nil {
			fmt.Fprintf(stderr, "plugins.Serve: %s\n", err)
			return 1
		}
		fmt.Fprintf(stdout, "%s\n", text)
		return 0
	case os.Getenv(api.Handshake.MagicCookieKey) == api.Handshake.MagicCookieValue:
		serve(d)
		return 0
	case len(args) == 2 && (args[1] == "--help" || args[1] == "-h"):
		fmt.Fprint(stdout, usage(d, args[0]))
		return 0
	}
	fmt.Fprint(stderr, usage(d, args[0]))
	return 2
}

// usage says what the program is and how it is used.
func usage(d *stage.Definition, program string) string {
	var b strings.Builder
	name := filepath.Base(program)
	fmt.Fprintf(&b, "%s is a plugin for chessbrain: %s %s %s, %s.\n", name, d.Kind, d.Name, d.Version, d.Doc)
	fmt.Fprintf(&b, "It is not run by hand. chessbrain starts it where it is chosen:\n\n")
	dir, _ := filepath.Abs(filepath.Dir(program)) // "" without a working directory
	dir = cmp.Or(dir, filepath.Dir(program))
	fmt.Fprintf(&b, "  chessbrain train --plugin-dir %s --%s %s ...\n\n", dir, d.Kind, d.Name)
	if len(d.Settings) == 0 {
		fmt.Fprintf(&b, "It has no settings.\n")
	} else {
		fmt.Fprintf(&b, "Settings:\n")
	}
	for _, s := range d.Settings {
		fmt.Fprintf(&b, "  %-20s %s (%s; default %q)\n", s.Name, s.Doc, s.Allowed(), s.Default)
	}
	fmt.Fprintf(&b, "\n%s --describe prints its description as JSON.\n", name)
	return b.String()
}

const (
	parentPoll = time.Second     // how often a plugin looks whether its host is still there
	stopGrace  = 5 * time.Second // from the order to stop to the exit, at most
)

// serve answers the host until it, or a signal, ends the plugin.
func serve(d *stage.Definition) {
	parent := os.Getppid()
	stderr := os.Stderr // go-plugin replaces os.Stderr
	slog.SetDefault(slog.New(newLogHandler(stderr)))
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: api.Handshake,
		Plugins:         api.Set(d),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			s := grpc.NewServer(append(options, api.ServerOptions()...)...)
			go stopWhenTold(s, parent, terminate)
			return s
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true}),
	})
}

// stopWhenTold stops s on a signal, or when the process has another parent: the
// host is gone. A stage that does not let go does not keep the process alive.
func stopWhenTold(s *grpc.Server, parent int, terminate <-chan os.Signal) {
	poll := time.NewTicker(parentPoll)
	defer poll.Stop()
	for told := false; !told; {
		select {
		case <-terminate:
			told = true
		case <-poll.C:
			told = os.Getppid() != parent
		}
	}
	time.AfterFunc(stopGrace, func() { os.Exit(1) })
	s.Stop()
}
