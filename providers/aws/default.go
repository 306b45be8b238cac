package aws

// OrDefault fills in a prop that was left out, so that deleting a line from a program goes back to the service's default.
func OrDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// OrNil is a pointer to a value, nil for the zero value: how the service is told nothing, and how none compares.
func OrNil[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}

// OrZero is what a pointer points to, the zero value for nil.
func OrZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
