package tree

// Bounds on values, in the bytes that [Size] counts.
const (
	// MaxValue is how much one value may have: a prop, an output.
	MaxValue = 1 << 20
	// MaxValues is how much all values of a stack may have together.
	MaxValues = 64 << 20
)

// Size returns about how many bytes a tree has as JSON. It stops to count above most and returns more than that.
func Size(v any, most int) int {
	switch x := v.(type) {
	case string:
		return len(x) + 2
	case []any:
		n := 2
		for _, e := range x {
			if n += Size(e, most-n) + 1; n > most {
				break
			}
		}
		return n
	case map[string]any:
		n := 2
		for k, e := range x {
			if n += len(k) + 4 + Size(e, most-n); n > most {
				break
			}
		}
		return n
	}
	return 8
}
