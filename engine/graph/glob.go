package graph

import "strings"

// Match reports whether an address matches a pattern, in which * stands for any text within one part and ** for any text.
func Match(pattern, addr string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return pattern == addr
	}
	if !strings.HasPrefix(addr, pattern[:star]) {
		return false
	}
	rest, deep := strings.CutPrefix(pattern[star+1:], "*")
	addr = addr[star:]
	for i := 0; i <= len(addr); i++ {
		if Match(rest, addr[i:]) {
			return true
		}
		if i < len(addr) && addr[i] == '/' && !deep {
			return false
		}
	}
	return false
}
