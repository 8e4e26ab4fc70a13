// Command prioritized serves the built-in sampler of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/sample"
)

var definition = sample.Definition("prioritized")

func main() { plugins.Serve(definition) }
