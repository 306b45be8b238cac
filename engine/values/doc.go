// Package values reads what a program refers to outside its resources: secrets, outputs of other stacks, and what its own
// functions make of values. Each is read once, and what is secret is known to the redactor before anybody else sees it.
//
// It knows nothing of resources: an attribute of one is no value of this package.
package values
