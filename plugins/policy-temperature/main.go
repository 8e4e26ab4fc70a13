// Command policy-temperature serves the built-in rescorer of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/rescore"
)

var definition = rescore.Definition("policy-temperature")

func main() { plugins.Serve(definition) }
