package awstest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// told collects what a check says in place of a failed test.
type told struct {
	testing.TB
	errors []string
}

func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// rightQueue has attributes as AWS describes them, and each of wrongQueue has one mistake.
type rightQueue struct {
	Retention *time.Duration `prop:"min=1m,max=14d,default=4d" wire:"MessageRetentionPeriod"`
	Size      *props.Size    `prop:"min=1KiB,max=1MiB,default=1MiB" wire:"MaximumMessageSize"`
	Reuse     *time.Duration `prop:"min=1m,max=24h,default=5m" wire:"KmsDataKeyReusePeriodSeconds"`
	Scope     *string        `prop:"enum=queue|messageGroup,default=queue" wire:"DeduplicationScope"`
}

type wrongQueue struct {
	Retention *time.Duration `prop:"min=1m,max=7d,default=4d" wire:"MessageRetentionPeriod"`
	Size      *props.Size    `prop:"min=1KiB,max=1MiB,default=256KiB" wire:"MaximumMessageSize"`
	Reuse     *time.Duration `prop:"min=1s,max=24h,default=5m" wire:"KmsDataKeyReusePeriodSeconds"`
	Scope     *string        `prop:"enum=queue|group,default=queue" wire:"DeduplicationScope"`
}

// TestSaid holds tables to the sentences of a description: each of four mistakes is found, and nothing in a table without one.
func TestSaid(t *testing.T) {
	m := LoadModel(t, "sqs")
	says := m.Shapes[m.Operations["CreateQueue"].Input.Shape].Members["Attributes"].Documentation
	right := &told{TB: t}
	if n := conformText(right, kind.TableOf[rightQueue](), says); n != 7 || len(right.errors) > 0 {
		t.Errorf("compared %d statements of 7, and found %q", n, right.errors)
	}
	wrong := &told{TB: t}
	conformText(wrong, kind.TableOf[wrongQueue](), says)
	all := strings.Join(wrong.errors, "\n")
	for _, want := range []string{"retention is from", "size is \"256KiB\" by default", "reuse is from", "scope is one of"} {
		if !strings.Contains(all, want) {
			t.Errorf("not found: %s; said:\n%s", want, all)
		}
	}
	if len(wrong.errors) != 4 {
		t.Errorf("%d findings of 4:\n%s", len(wrong.errors), all)
	}
}
