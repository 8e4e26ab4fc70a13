// Package faulty is a plugin that misbehaves as it is told: it crashes, hangs,
// lies about numbers, sends too much, too little or too slowly. It speaks the
// protocol by itself, without the SDK and without go-plugin, so that it can break
// every rule of it. Where it does not misbehave it is a proper stage whose work
// can be counted:
//
//   - the rescorer adds 1 to the weight of each ply, so that a game that went
//     through it twice, or never, shows;
//   - the sampler gives the rows of the index one after another, so that a row
//     that was lost or given twice shows;
//   - the exporter writes the tensors of the net, and a text.
//
// A test makes its own binary the plugin and says in the environment what it is
// to do:
//
//	func TestMain(m *testing.M) {
//		if plan, ok := faulty.FromEnv(); ok {
//			faulty.Serve(plan)
//		}
//		os.Exit(m.Run())
//	}
//	...
//	plan := faulty.Plan{Kind: stage.KindRescorer, Mode: faulty.Hang}
//	host.New(host.Options{Dirs: dirs, Env: []string{plan.Env()}})
package faulty
