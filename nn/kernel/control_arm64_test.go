package kernel

// controlValues are values of FPCR that entries must restore: the default, flush
// to zero, and rounding down.
var controlValues = []uint64{0, 1 << 24, 2 << 22}

func readControl() uint64 { return readFPCR() }

func writeControl(v uint64) { writeFPCR(v) }

// hasEntry says whether this CPU can run an entry.
func hasEntry(string) bool { return true }
