// Package setup makes the parts of a run from its configuration: devices and nets,
// the searches and games of self-play, the players of a match, plugins, the stages of
// a process and their swap, the loader. Faults are *config.Error and say where in the
// file they stand; a command that gets one ends with exit code 2.
//
// The parts themselves know nothing of configuration files or of plugins
// (docs/ARCHITECTURE.md). New, for one, turns the section data_loader into a
// loader with its rescorers:
//
//	eff, err := config.Resolve(config.Input{Path: "run.textproto"})
//	...
//	l, err := setup.New(ctx, eff, host) // exit code 2 where the graph is wrong
//	defer l.Close()
//	err = l.Next(ctx, batch)
package setup
