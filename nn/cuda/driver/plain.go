//go:build !chessbrain_cuda

package driver

import "errors"

// ErrNotBuilt is what a program without CUDA answers.
var ErrNotBuilt = errors.New("this program was built without CUDA: build bin/chessbrain-cuda with `make cuda`")

// Open makes a device ready; in this build there is none, and it returns ErrNotBuilt.
func Open(ordinal int) (Device, error) { return nil, ErrNotBuilt }

// Count returns the number of devices; in this build it returns ErrNotBuilt.
func Count() (int, error) { return 0, ErrNotBuilt }

// Describe returns what a device is; in this build it returns ErrNotBuilt.
func Describe(ordinal int) (Info, error) { return Info{}, ErrNotBuilt }
