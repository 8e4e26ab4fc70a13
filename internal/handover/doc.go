// Package handover lets the plain program become the GPU program.
//
// Two programs are built: the plain one, which needs no C library, and chessbrain-cuda.
// A command of the plain one that is to compute on a GPU looks for the other beside
// itself and on PATH, and replaces its own process by it, with the same arguments:
//
//	path, why := handover.New(false).Wanted("auto", "cpu")
//	if why != "" {
//		return errors.New(why)
//	}
//	return handover.Start(path, version) // goes on where path is ""
//
// The new process calls [TakeOver] first: the two must be of one version. After a fault of a
// GPU the process can go on with [Again].
package handover
