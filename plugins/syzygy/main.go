// Command syzygy serves the built-in rescorer of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/rescore"
)

var definition = rescore.Definition("syzygy")

func main() { plugins.Serve(definition) }
