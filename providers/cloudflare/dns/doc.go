// Package dns offers records of Cloudflare DNS.
//
// It knows which types of records have text and which have parts, how one is found again among others of its name, and
// how an owner tag is carried in a comment. It does not know zones, beyond their names; how calls are made and judged is the
// business of package cloudflare.
package dns

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed record.go record_props.go
var source embed.FS

const recordType = "cloudflare.DNSRecord"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{recordKind.Erase()}}
}

// NewRecord declares a record.
func NewRecord(s *athanor.Stack, name string, p RecordProps, opts ...athanor.Option) Record {
	return athanor.Declare(s, recordKind, name, p, opts...)
}

// ReadRecord uses a record that the stack does not own: by zone/record, the ids of both, or by RecordProps that tell it.
func ReadRecord(s *athanor.Stack, name string, by any) Record {
	return athanor.Read(s, recordKind, name, by)
}
