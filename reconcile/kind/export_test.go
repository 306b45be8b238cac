package kind

import "reflect"

// ValidateTags is what [Table.Validate] says of a table of props, for the many of which a test asks nothing else: the compiler makes every
// method of a table once more for each type.
func ValidateTags(props reflect.Type, codecs ...Codec) error {
	t := table{codecs: codecs}
	_, err := t.read(props)
	return err
}
