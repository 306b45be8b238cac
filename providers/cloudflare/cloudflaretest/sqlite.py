# SQLite, which is what D1 is made of, for a test: a line of JSON in, a line of JSON out. All statements of a line are
# done, or none.
import json
import sqlite3
import sys

databases = {}


def statements(sql):
    text = ""
    for part in sql.split(";"):
        text += part + ";"
        if sqlite3.complete_statement(text):
            if text.strip(" \n\t;"):
                yield text
            text = ""


def run(db, sql):
    results = []
    db.execute("BEGIN")
    try:
        for statement in statements(sql):
            if statement.lstrip().upper().startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT")):
                raise sqlite3.OperationalError("cannot start a transaction within a transaction")
            cursor = db.execute(statement)
            names = [column[0] for column in cursor.description or []]
            results.append({"statement": statement, "results": [dict(zip(names, row)) for row in cursor], "changes": max(cursor.rowcount, 0)})
        db.execute("COMMIT")
    except sqlite3.Error as error:
        db.execute("ROLLBACK")
        return {"error": str(error)}
    tables = db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchone()
    return {"done": results, "tables": tables[0]}


for line in sys.stdin:
    asked = json.loads(line)
    if asked["id"] not in databases:
        databases[asked["id"]] = sqlite3.connect(":memory:", isolation_level=None)
    database = databases[asked["id"]]
    if "dump" in asked:
        made = [line for line in database.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
        answer = {"dump": made}
    else:
        answer = run(database, asked["sql"])
    print(json.dumps(answer), flush=True)
