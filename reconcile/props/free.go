package props

// given is a copy of a tree without what is null in its maps.
func given(v any) any {
	switch at := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(at))
		for k, e := range at {
			if e != nil {
				m[k] = given(e)
			}
		}
		return m
	case []any:
		list := make([]any, len(at))
		for i, e := range at {
			list[i] = given(e)
		}
		return list
	}
	return v
}
