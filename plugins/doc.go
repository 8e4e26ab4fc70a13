// Package plugins is all that the author of a plugin in Go needs beside package
// stage: Serve makes a program of a stage.
//
//	type sharpen struct{}
//
//	func (sharpen) Name() string { return "sharpen" }
//
//	func (sharpen) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
//		out := g.Clone()
//		... // change policies, values, weights, flags or results of out.Plies
//		return out, nil
//	}
//
//	func main() { plugins.Serve(sharpen{}) }
//
// A stage with settings is served by its definition:
//
//	plugins.Serve(&stage.Definition{
//		Kind: stage.KindRescorer, Name: "sharpen", Version: "1.0.0", Doc: "makes policies sharper",
//		Settings: []stage.Setting{{Name: "power", Doc: "exponent", Min: 1, Max: 4, Default: "2"}},
//		NewRescorer: func(v stage.Values) (stage.Rescorer, error) { return sharpen{v.Number("power")}, nil },
//	})
//
// The program is put into a directory that chessbrain looks for plugins in
// (--plugin-dir) and chosen by its stage's name (--rescorer sharpen). It logs
// through log/slog; what it prints goes to the log, too. Run by hand it says what
// it is, and with --describe it prints its description as JSON.
//
// In tests, package plugins/plugintest holds a stage against everything that is
// expected of one. The protocol is in plugins/api/plugin.proto.
package plugins
