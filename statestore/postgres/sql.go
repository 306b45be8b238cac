package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements are the SQL of one schema.
type statements struct {
	schema     string
	about      string // → schema version, identity
	stages     string // → stack, name
	fetch      string
	change     string // of a stage that is there
	make       string // of one that is not
	setVersion string
	setAbout   string
	rewrite    string // gives the tables new files, without what was replaced
}

// fetchSQL reads the head of a stage and any number of its records: one statement, so one consistent version. The row
// without a kind is always there. The laterals with offset or limit make sure that each key is looked up in the index, whatever
// the planner believes of a table that has just been made.
const fetchSQL = `
with s as (select stage, version, head from $.stages where digest = $1),
points as (select * from unnest($2::text[], $3::bytea[]) as w (kind, key)),
ranges as (select * from unnest($4::text[], $5::bytea[], $6::bytea[], $7::bigint[]) as w (kind, lo, hi, n))
select '', null::bytea, null::bytea, (select head from s), (select stage from s), (select version from s),
	(select schema from $.about), clock_timestamp()
union all
select r.kind, r.key, r.long, r.value, null, null, null, null from s, points w, lateral (
	select * from $.records r where r.stage = s.stage and r.kind = w.kind and r.key = w.key offset 0) r
union all
select r.kind, r.key, r.long, r.value, null, null, null, null from s, ranges w, lateral (
	select * from $.records r where r.stage = s.stage and r.kind = w.kind and r.key >= w.lo and r.key < w.hi
	order by r.key desc limit w.n) r`

// The change of a stage is one statement, whose first part compares and swaps: when the version is not the one that was
// read, or the schema was migrated since, that part gives no row and the others find nothing to do. Nothing of it is
// seen before all of it, and the server begins when it has received the whole of it: a client that stops half way
// holds no lock.
const (
	swapSQL = `update $.stages set head = $1, version = version + 1
		where stage = $12 and version = $13 and (select schema from $.about) = $2 returning stage`
	makeSQL = `insert into $.stages (head, digest, stack, name)
		select $1, $12, $13, $14 where (select schema from $.about) = $2
		on conflict (digest) do nothing returning stage`
	changeSQL = `
with head as (HEAD),
cleared as (
	delete from $.records r using head, unnest($3::text[], $4::bytea[], $5::bytea[]) as c (kind, lo, hi)
	where r.stage = head.stage and r.kind = c.kind and r.key >= c.lo and r.key < c.hi),
deleted as (
	delete from $.records r using head, unnest($6::text[], $7::bytea[]) as d (kind, key)
	where r.stage = head.stage and r.kind = d.kind and r.key = d.key),
written as (
	insert into $.records (stage, kind, key, long, value)
	select head.stage, w.kind, w.key, w.long, w.value
	from head, unnest($8::text[], $9::bytea[], $10::bytea[], $11::bytea[]) as w (kind, key, long, value)
	on conflict (stage, kind, key) do update set value = excluded.value)
select stage from head`
)

func statementsFor(schema string) statements {
	s := statements{schema: schema}
	s.about = s.in(`select schema, id from $.about`)
	s.stages = s.in(`select stack, name from $.stages order by stack, name`)
	s.fetch = s.in(fetchSQL)
	s.change = s.in(strings.Replace(changeSQL, "HEAD", swapSQL, 1))
	s.make = s.in(strings.Replace(changeSQL, "HEAD", makeSQL, 1))
	s.setVersion = s.in(`update $.about set schema = $1`)
	s.rewrite = s.in(`vacuum (full) $.records, $.stages`)
	s.setAbout = s.in(`insert into $.about (schema, id) values ($1, $2)`)
	return s
}

// in puts the name of the schema where a $ stands before a dot.
func (s *statements) in(sql string) string {
	return strings.ReplaceAll(sql, "$.", pgx.Identifier{s.schema}.Sanitize()+".")
}
