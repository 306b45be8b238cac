package service

// Operations lists the methods and paths of the protocol.
func Operations() []string {
	var all []string
	for _, r := range new(Service).routes() {
		all = append(all, r.method+" "+r.path)
	}
	return all
}
