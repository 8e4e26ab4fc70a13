package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// EndCounts lists end reasons, the most frequent first.
func EndCounts(ends map[string]int) string {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		if ends[a] != ends[b] {
			return ends[b] - ends[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, ends[name])
	}
	return strings.Join(names, ", ")
}
