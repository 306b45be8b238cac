package plan

// Levels are the declared nodes, and the reads that refer to others, by the longest chain below them.
func Levels(sorted []*Node) [][]*Node {
	var all [][]*Node
	of := make(map[*Node]int, len(sorted))
	for _, n := range sorted {
		level := 0
		for _, up := range n.Ups {
			level = max(level, of[up]+1)
		}
		of[n] = level
		if n.Decl == nil && len(n.Ups) == 0 {
			continue
		}
		for len(all) <= level {
			all = append(all, nil)
		}
		all[level] = append(all[level], n)
	}
	return all
}
