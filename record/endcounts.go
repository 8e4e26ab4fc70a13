package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// EndCounts lists end reasons, the most frequent first.
func EndCounts[N int | int64 | uint64](ends map[string]N) string {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[b], ends[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, ends[name])
	}
	return strings.Join(names, ", ")
}
