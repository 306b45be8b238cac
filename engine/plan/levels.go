package plan

// Levels are the declared nodes by the longest chain below them.
func Levels(sorted []*Node) [][]*Node {
	var all [][]*Node
	of := make(map[*Node]int, len(sorted))
	for _, n := range sorted {
		level := 0
		for _, up := range n.Ups {
			level = max(level, of[up]+1)
		}
		of[n] = level
		if n.Decl == nil {
			continue
		}
		for len(all) <= level {
			all = append(all, nil)
		}
		all[level] = append(all[level], n)
	}
	return all
}
