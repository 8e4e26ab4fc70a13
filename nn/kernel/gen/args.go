package main

import "github.com/chessbrain/chessbrain/nn/kernel/gen/args"

// field is one 8-byte field of an argument struct.
type field = args.Field

// argSpecs are the argument structs.
var argSpecs = args.Structs

// entry is one assembly function over an argument struct.
type entry = args.Entry

// entries lists the emitted functions in order.
var entries []entry

// writeArgs writes the argument structs as Go.
func writeArgs(path string) error { return args.WriteStructs(path) }

// writeEntries writes the list of all entries, which tests walk.
func writeEntries(path string) error { return args.WriteEntries(path, "amd64", entries) }
