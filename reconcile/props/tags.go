package props

import "reflect"

// Tagged is one field of a struct with its tags, for those who read more of them than this package does.
type Tagged struct {
	// Name is the name of the prop.
	Name string
	// Field is the Go field. Its Index leads to it from the struct that was asked about, through those that it embeds.
	Field reflect.StructField
}

// Tags are the fields of a struct type that are props, in their order, those of embedded structs included.
func Tags(t reflect.Type) ([]Tagged, error) {
	s, err := shapeOf(t)
	if err != nil {
		return nil, err
	}
	all := make([]Tagged, len(s.fields))
	for i, f := range s.fields {
		field := t.FieldByIndex(f.index)
		field.Index = f.index
		all[i] = Tagged{Name: f.name, Field: field}
	}
	return all, nil
}

// ForTable is the name of the first field, of a struct type or of the structs in it, with a tag that means nothing without
// an attribute table; "" when there is none.
func ForTable(t reflect.Type) string {
	s, err := shapeOf(t)
	if err != nil {
		return ""
	}
	return forTable(s)
}

func forTable(s *shape) string {
	for _, f := range s.fields {
		if f.forTable {
			return f.name
		}
		if below := forTable(f.shape.leaf()); below != "" {
			return f.name + "." + below
		}
	}
	return ""
}
