package monitor

import (
	"strconv"
	"strings"
)

// Count is n things in words for a person: "1 net", "2 nets", "0 matches". one is
// the word for a single thing.
func Count[N int | int32 | int64 | uint64](n N, one string) string {
	text := strconv.FormatUint(uint64(n), 10)
	if n < 0 {
		text = strconv.FormatInt(int64(n), 10)
	}
	switch {
	case n == 1:
		return text + " " + one
	case strings.HasSuffix(one, "ch"):
		return text + " " + one + "es"
	}
	return text + " " + one + "s"
}
