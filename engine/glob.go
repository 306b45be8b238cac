package engine

import "strings"

// matchGlob matches an address with a pattern in which * stands for anything within one part and ** for anything.
func matchGlob(pattern, addr string) bool {
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
		if matchGlob(rest, addr[i:]) {
			return true
		}
		if i < len(addr) && addr[i] == '/' && !deep {
			return false
		}
	}
	return false
}
