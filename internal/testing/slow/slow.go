// Package slow says how thorough tests shall be. `go test ./...` ends within fifteen
// minutes on two cores; what takes longer is asked for with `go test -tags slow ./...`,
// as .ci/run does. A test uses On to choose a count, or stands in a file with the tag.
package slow
