// Command plies-left serves the built-in rescorer of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/rescore"
)

var definition = rescore.Definition("plies-left")

func main() { plugins.Serve(definition) }
