package kind

import "github.com/athanor-dev/athanor/reconcile/props"

// Tree is the codec "tree" for a prop that the service has in the form in which it is declared: a map or a list of anything.
func Tree() Codec {
	return Codec{
		Name:  "tree",
		Write: func(prop any) (any, error) { return props.EncodeValue(prop) },
		Read:  func(wire any) (any, error) { return wire, nil },
	}
}
