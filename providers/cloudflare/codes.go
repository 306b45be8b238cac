package cloudflare

import (
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// codes are the error codes by service and by what to do about them. One number means different errors to different
// services; those under "" mean the same to all. They are those of Cloudflare's own operations: a test holds them
// against the published description.
var codes = map[string]map[reconcile.Class][]int64{
	"": {
		// 971 comes with any status.
		reconcile.Throttled: {971},
		// A bad token is often answered with status 400: bad headers, an unknown key, no key, no access, no authentication.
		reconcile.Denied: {6003, 9103, 9106, 9109, 10000},
		// 7003 is a path that leads nowhere, mostly since an id is not shaped like one. It says nothing about an
		// object.
		reconcile.Invalid: {7000, 7001, 7003, 10405},
	},
	// 7500 is any error of the database, a mistake in SQL as well as a fault of the service: the status tells them apart.
	"D1": {
		reconcile.Absent:  {7404},
		reconcile.Exists:  {7502},
		reconcile.Invalid: {7400},
		reconcile.Quota:   {7406},
	},
	// An identical record is looked for again; one of the same name that excludes ours (CNAME) is a mistake.
	"DNS": {
		reconcile.Absent:  {81044},
		reconcile.Exists:  {81057, 81058},
		reconcile.Invalid: {81053, 81054},
	},
	// 1001 is whatever is wrong with what a token is to be.
	"Accounts": {
		reconcile.Absent:  {1003},
		reconcile.Invalid: {400, 1001},
	},
	"User": {
		reconcile.Absent:  {1003},
		reconcile.Invalid: {400, 1001},
	},
	// 2009 is an origin in a private network that Cloudflare is not let into.
	"Hyperdrive": {
		reconcile.Absent:  {2006},
		reconcile.Invalid: {2007, 2009},
	},
	// 10048 is an operation that the free plan has no more of today: keys are listed 1,000 times a day,
	// https://developers.cloudflare.com/kv/platform/pricing/.
	"KV": {
		reconcile.Quota:   {10048},
		reconcile.Absent:  {10009, 10013},
		reconcile.Exists:  {10014},
		reconcile.Invalid: {10012, 10019, 10029, 10034},
	},
	// A bucket that is not empty yet is one that is being emptied; a queue that is told of and does not exist is a mistake
	// in the declaration.
	"R2": {
		reconcile.Absent:  {10006, 10053, 10085, 11011},
		reconcile.Exists:  {10004},
		reconcile.Busy:    {10008},
		reconcile.Invalid: {10005, 10015, 10063, 11000, 11014, 11019, 11020},
	},
	// Another migration tag is that of somebody who came between: what is live is looked at again. A Worker that others
	// need (10064, 10142) stays until they are changed.
	"Workers": {
		reconcile.Absent:   {10007, 10009, 100114},
		reconcile.Exists:   {10020, 100116},
		reconcile.Conflict: {10079},
		reconcile.Invalid: {
			10001, 10019, 10021, 10022, 10041, 10061, 10064, 10068, 10070, 10074, 10085, 10142, 10143, 10144, 10157, 10159, 10181, 10182, 10211,
			11000, 100117, 100119, 100143,
		},
	},
	// The ruleset of a phase is made once; a second creation finds it. 50002 is what the plan of a zone does not hold.
	"Rulesets": {
		reconcile.Absent: {10001, 10003},
		reconcile.Exists: {20217},
		reconcile.Denied: {50002},
	},
	// 1001 is an id that is no zone's. A domain is a zone once, in whichever account. It must be registered, and not be a
	// part of another. 1015 is a setting that the plan of the zone does not offer.
	"Zones": {
		reconcile.Denied:  {1015},
		reconcile.Absent:  {1001},
		reconcile.Exists:  {1061},
		reconcile.Invalid: {1002, 1052, 1099, 1116},
	},
	// 1000 is a class that is not there, and 1607 one that no Worker says has a container; 1608 is a class that has one already.
	"Containers": {
		reconcile.Absent:  {1609},
		reconcile.Exists:  {1608},
		reconcile.Invalid: {1000, 1607},
	},
	"Workflows": {
		reconcile.Absent:  {10200},
		reconcile.Invalid: {10002},
	},
	// A queue that events are still sent to is deleted once they are not.
	"Queues": {
		reconcile.Absent:  {11000, 11006},
		reconcile.Exists:  {11004, 11009},
		reconcile.Busy:    {11017},
		reconcile.Invalid: {10007, 10026, 10107, 11001, 11003},
	},
}

var byCode = sync.OnceValue(func() map[string]map[int64]reconcile.Class {
	m := map[string]map[int64]reconcile.Class{}
	for service, classes := range codes {
		m[service] = map[int64]reconcile.Class{}
		for class, numbers := range classes {
			for _, n := range numbers {
				m[service][n] = class
			}
		}
	}
	return m
})

// ClassOf is what the table says of a code.
func ClassOf(service string, code int64) reconcile.Class {
	if class, ok := byCode()[service][code]; ok {
		return class
	}
	return byCode()[""][code]
}

// Codes are the codes of the table by service, "" for those of all services.
func Codes() map[string][]int64 {
	all := map[string][]int64{}
	for service, classes := range codes {
		for _, numbers := range classes {
			all[service] = append(all[service], numbers...)
		}
	}
	return all
}
