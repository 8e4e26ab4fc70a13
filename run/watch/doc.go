// Package watch shows a run to people while it works and afterwards: what it does, the games
// that it plays, what a net thinks of a position, and how it learns. A Source reads the run's
// files and asks its processes; Handler is the page that draws it in a browser.
//
// It only reads, but for orders, which a caller has to allow. What several readers ask for at the same time is gathered once, so that a
// run does not notice how many there are.
package watch
