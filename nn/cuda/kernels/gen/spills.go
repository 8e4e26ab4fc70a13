package main

// spills lists the kernels that may spill registers, and why that does not hurt.
var spills = map[string]string{}
