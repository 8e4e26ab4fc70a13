// Package chance is the arithmetic of sampling that two rooms share: package
// sample, whose samplers draw rows of the window in memory, and replay/loader,
// whose stages take positions out of files. Package rescore takes Power.
//
//	h := chance.Hanse{Gamma: 1}
//	h.Add(80)                  // the window holds a game of 80 positions
//	ok := h.Accept(rng, 40)    // with probability 1/2
//
//	f := chance.Focus{QWeight: 6, PolicyScale: 3.5, Alpha: 1, Beta: 0.5, Gamma: 1, Tau: 1}
//	w := f.Of(0.3, 0.8)        // of a position whose search moved Q by 0.3 and has a KLD of 0.8 nats
//
//	k := chance.Permute(i, n, key) // place of i in the random order of n that the key names
//
// Everything is a pure function, but for the window's largest weight in Hanse,
// and gives the same bits on every machine.
package chance
