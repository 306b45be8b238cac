package schema

import "google.golang.org/protobuf/encoding/protowire"

// hasTrue reports whether fields that were left unread hold a boolean of a number that is true.
func hasTrue(fields []byte, number protowire.Number) bool {
	for len(fields) > 0 {
		num, typ, n := protowire.ConsumeTag(fields)
		if n < 0 {
			return false
		}
		fields = fields[n:]
		if num == number && typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(fields)
			return n > 0 && v != 0
		}
		if n = protowire.ConsumeFieldValue(num, typ, fields); n < 0 {
			return false
		}
		fields = fields[n:]
	}
	return false
}
