// Package tfplugin holds the messages of the plugin protocol of Terraform providers, version 6, which serve version 5 too: what
// differs is six names of calls and the number of one field (see package plugin). It is generated from tfplugin6.proto, whose
// licence is MPL-2.0.
//
// The name of its protobuf package is another than Terraform's, so that a program may link a provider's packages as well: names
// do not go over the wire.
package tfplugin

//go:generate protoc -I. --go_out=. --go_opt=paths=source_relative tfplugin6.proto
