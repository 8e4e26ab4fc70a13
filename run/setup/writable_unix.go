//go:build unix

package setup

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// writable says whether files can be made in dir, without making one.
func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
