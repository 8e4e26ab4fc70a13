// Package join lets players on other machines play for a run (docs/FLEET.md). Host is the
// side of the run: it answers players, hands out the newest net, and takes their games into
// the run's directory, each once. Play is the side of a player: it plays in a run
// directory of its own, and a courier delivers what is finished.
package join
