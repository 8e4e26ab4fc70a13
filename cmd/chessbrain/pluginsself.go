package main

import (
	"fmt"
	"os"

	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// serveVar is the environment variable that makes this program the plugin of the
// built-in rescorer that it names, so that bench plugins needs no other program.
const serveVar = "CHESSBRAIN_SERVE_RESCORER"

// servePlugin serves the rescorer that the environment names and returns true
// when the host is gone; false where none is named.
func servePlugin() bool {
	name := os.Getenv(serveVar)
	if name == "" {
		return false
	}
	d, err := stage.Find(rescore.Definitions(), stage.KindRescorer, name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "chessbrain: %s: %v\n", serveVar, err)
		os.Exit(exitUsage)
	}
	plugins.Serve(d)
	return true
}
