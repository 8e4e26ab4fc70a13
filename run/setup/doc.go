// Package setup makes the parts of a run from its configuration: nets, searches,
// players, the trainer's settings, stages and the loader.
//
// The rooms that do the work (selfplay, trainer, replay/loader) know nothing of a
// configuration file: each has a plain struct of settings, so that its tests and
// examples need no file. Setup turns the messages of the schema into these structs.
// A fault is a *config.Error with its place in the file, found before anything is
// written; a command that gets one ends with exit code 2.
//
//	e, err := config.Resolve(config.Input{Path: "run.textproto"})
//	if err != nil {
//		return err
//	}
//	if err := setup.CheckConfig(e); err != nil {
//		return err // usage: exit code 2
//	}
//	game, err := setup.GameConfig(e.Config)     // for selfplay
//	net, err := setup.InitialNet(e, seed)       // random weights, or those of a file
//	inference, err := setup.OpenInference(e.Config) // CPU or GPU, as the configuration says
//
// The devices of a run are chosen here alone: a player and a trainer that resolved --device each for
// itself could disagree. Arithmetic is what they came to. A deterministic run refuses
// to continue with another one, because its weights would differ.
//
// Stages are the rescorers, the sampler and the exporter: built in, or programs. A
// Swapper exchanges them in a running process. New opens the loader of the section
// data_loader, which has rescorers of its own.
package setup
