// Package dynamodb offers tables of Amazon DynamoDB.
//
// It knows a table's keys, its indexes, which of its settings one call can change and which calls DynamoDB takes one at a
// time. It does not know items, beyond that there are some; how calls are made and judged is the business of package
// aws.
package dynamodb

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed table.go table_props.go
var source embed.FS

const tableType = "aws.dynamodb.Table"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(tableKind)},
		Filters:  []string{"dynamodb:table"},
		Registry: map[string]string{"AWS::DynamoDB::Table": tableType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			table, is := strings.CutPrefix(p.Resource, "table/")
			// Streams, indexes and backups are named below their table.
			return tableType, string(arn), table, ok && is && p.Service == "dynamodb" && !strings.Contains(table, "/")
		},
	}
}

// NewTable declares a table.
func NewTable(s *athanor.Stack, name string, p TableProps, opts ...athanor.Option) Table {
	return athanor.Declare(s, tableKind, name, p, opts...)
}

// ReadTable uses a table that the stack does not own: by its ARN, or by TableProps that name it.
func ReadTable(s *athanor.Stack, name string, by any) Table {
	return athanor.Read(s, tableKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
