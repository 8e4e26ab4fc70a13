// Package config is the configuration of chessbrain: the textproto schema
// (chessbrain.proto; the generated types are of this package), its defaults,
// and the merge flag > environment > file > default.
//
// A Config that Resolve returns has every field set, so the getters tell the
// effective values, and the origin of each is known: a complaint about a value
// names the flag, the variable, or file:line:column, also when another room
// finds the fault later.
//
//	set := config.NewFlagSet(config.TrainGroups...)
//	for _, v := range set.Values() {
//		f := cmd.Flags().VarPF(v, v.Flag().Name, "", v.Flag().Usage)
//		f.NoOptDefVal = v.NoOptDefVal()
//	}
//	eff, err := config.Resolve(config.Input{Path: path, Env: os.LookupEnv, Flags: set})
//	var bad interface{ ExitCode() int }
//	if errors.As(err, &bad) {
//		os.Exit(bad.ExitCode()) // 2
//	}
//	n := eff.Config.GetTraining().GetBatchSize()
//	return eff.Errorf("training.device", "use cpu", "no driver for %s", dev)
//
// Unknown keys are refused with line and column. Format writes a configuration
// with the schema's comments; Marshal writes its canonical form, which Hash is
// made of; Compare says what changed between two starts of a run and what may not.
package config

// The first needs protoc 3.21 (Debian's protobuf-compiler); its Go plugin is the
// tool that go.mod pins. The last writes docs/FLAGS.md and
// configs/example.textproto from the schema.

//go:generate go run ./gen
//go:generate go test -count=1 -run ^TestGenerated -update .
