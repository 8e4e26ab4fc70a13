// Command safetensors serves the built-in exporter of that name as a plugin.
package main

import (
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/export"
)

var definition = export.Definition("safetensors")

func main() { plugins.Serve(definition) }
