package handover

import (
	"errors"
	"fmt"
	"os"
)

// Start becomes the program at path, if any, with the same arguments. version is that
// of this program.
func Start(path, version string) error {
	if path == "" {
		return nil
	}
	env := append(os.Environ(), handedVar+"="+version)
	if err := become(path, append([]string{path}, os.Args[1:]...), env); err != nil {
		return fmt.Errorf("start %s: %w; rebuild it with `make cuda`, or use --device cpu", path, err)
	}
	return nil
}

// TakeOver checks, in a program that another one became, that the two belong
// together. The plain program under the other's name would become itself for ever.
func TakeOver(built bool, version string) error {
	from := os.Getenv(handedVar)
	if from == "" {
		return nil
	}
	if err := os.Unsetenv(handedVar); err != nil { // programs that this one starts were not handed over to
		return err
	}
	self, _ := os.Executable()
	switch {
	case !built:
		return fmt.Errorf("%s was built without CUDA: rebuild it with `make cuda`, or use --device cpu", self)
	case from != version:
		return fmt.Errorf("%s is version %s, but chessbrain is %s: rebuild both (make build cuda), or use --device cpu", self, version, from)
	}
	return nil
}

// errNoExec says that a system cannot replace a program by another.
var errNoExec = errors.New("this system cannot hand a process over")
