package aws

// OrDefault fills in a prop that was left out, so that deleting a line from a program goes back to the service's default.
func OrDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
