// Package stage declares the exchangeable steps of a run and the plain types
// that pass between them: Rescorer (a finished game before it is stored),
// Sampler (which rows of the window are trained on) and Exporter (a
// checkpoint's net to files). Built-in ones live
// in rescore, sample and export; a plugin satisfies the same interfaces.
//
// A part of a run that has state offers it as a Section, which becomes a named part of
// each checkpoint:
//
//	section := source.Section() // Name "source", saved beside the weights
//
// A Definition describes a stage, checks its settings and makes it by name; the
// built-in stages and plugins are all known by theirs.
//
// The package does nothing by itself: no files, no randomness, no goroutines.
package stage
