package host

import (
	"io/fs"
	"net/netip"
	"path/filepath"
	"strings"
)

// checkSafe lets all pass: who may change a file stands in access lists here, which this
// program does not read.
func checkSafe(string, fs.FileInfo) error { return nil }

func mine(string) bool { return true }

const noFollow = 0

func executable(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(info.Name()), ".exe")
}

// private says whether an address is this machine's: go-plugin listens on TCP here.
func private(network, address, _ string) bool {
	at, err := netip.ParseAddrPort(address)
	return network == "tcp" && err == nil && at.Addr().IsLoopback()
}
