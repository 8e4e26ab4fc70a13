// Command uniform serves the built-in sampler of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/sample"
)

var definition = sample.Definition("uniform")

func main() { plugins.Serve(definition) }
