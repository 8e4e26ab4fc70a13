// Package alarms tells when a run goes wrong in a way that no error shows: nearly
// all games are drawn, games end by the limit of plies, the policy has collapsed
// onto one move, a head has no targets, nets get weaker against an opponent that
// never changes.
//
// The rules are pure functions over figures; each returns an alarm or nil:
//
//	alarm := alarms.DrawShare(alarms.Games{Games: 300, Draws: 291})
//
// A Watcher is a reader of a run's events that keeps the figures of the newest
// games and steps and holds them against the rules:
//
//	bus.Go(256, alarms.New(bus.Publish))
//
// It must be started with Bus.Go and not attached: what it publishes goes to the
// bus that it reads. Nothing is saved; after a restart the windows fill anew. An
// alarm that goes on is repeated only after repeatAfter windows.
package alarms
