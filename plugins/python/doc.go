// Package python holds the template of plugins in Python and the tests that run
// it. decided is a whole plugin: plugin.py is what its author wrote,
// chessbrain_plugin.py and chessbrain_services.py what every plugin needs,
// plugin_pb2.py the messages of plugins/api/plugin.proto. examples has a sampler
// and an exporter to put in plugin.py's place. README.md says how to begin.
//
// The tests need a python3 with grpcio and are skipped where there is none.
package python

//go:generate protoc -I../api --python_out=decided --pyi_out=decided plugin.proto
