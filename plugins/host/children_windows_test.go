package host

import "os/exec"

// leave changes nothing: nobody looks after the children of a plugin here.
func leave(*exec.Cmd) {}
