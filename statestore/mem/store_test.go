package mem

import (
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		d := New().data
		return storetest.Subject{
			Open: func(world storetest.World) statestore.Store { return open(d, world) },
			Damage: func(t *testing.T, stage statestore.Stage, address string) {
				d.mu.Lock()
				defer d.mu.Unlock()
				value := (*d.stages[stage])[ledger.Rows].Get(address)
				value[len(value)/2] ^= 1
			},
			Records: func(_ *testing.T, stage statestore.Stage) storetest.Records {
				d.mu.Lock()
				defer d.mu.Unlock()
				all := storetest.Records{}
				for name, table := range *d.stages[stage] {
					all[string(name)] = maps.Collect(table.Ascend("", ""))
				}
				return all
			},
			SetRecords: func(_ *testing.T, stage statestore.Stage, records storetest.Records) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.stages[stage] = newTables()
				for name, table := range records {
					for key, value := range table {
						(*d.stages[stage])[ledger.Table(name)].Set(key, value)
					}
				}
			},
		}
	})
}
