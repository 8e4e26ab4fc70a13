// Package plugintest is the conformance suite of the exchangeable stages: what
// every rescorer, sampler and exporter must hold to, whoever wrote it and in
// whatever language.
//
// The test file of a plugin in Go is its whole use. The suite runs two ways: the
// stage bare, and as a subprocess under the supervision of package host; where the
// stage says that it is deterministic, the two must agree bit for bit:
//
//	func TestMain(m *testing.M) { plugintest.Main(m, definition) }
//
//	func TestConformance(t *testing.T) { plugintest.Run(t, definition, settings) }
//
// Main makes the test binary the plugin when the host starts it as one, so that
// nothing has to be built. RunProgram tests a program that is there already, and
// Check is the suite without package testing, for the command `plugins test`:
//
//	for _, r := range plugintest.Check(ctx, plugintest.Hosted(h, d, settings), seed) {
//		fmt.Println(r)
//	}
//
// Games, EdgeGames, Window and Checkpoint make the inputs; they are good for the
// tests of a stage's own arithmetic, too. All of it depends on nothing but a
// seed. The package faulty of internal/testing is a plugin that misbehaves in every way that a host must
// survive.
package plugintest
