# SQLite, which is what D1 is made of, for a test: a line of JSON in, a line of JSON out. An import does all statements of
# a line, or none. A query does one after the other, and what came before a mistake stays.
import json
import re
import sqlite3
import sys

databases = {}


def statements(sql):
    text = ""
    for part in sql.split(";"):
        text += part + ";"
        if sqlite3.complete_statement(text):
            if text.strip(" \n\r\t;"):
                yield text
            text = ""


# What the splitter of /query looks at: quoted text and comments as they are, words, and single characters.
tokens = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|\w+|.""", re.S)


# D1's /query cuts its text at semicolons, and knows of the bodies of triggers what its threads show: a BEGIN that a carriage
# return follows opens none (workers-sdk#14991), and the END of a CASE that stands in no parentheses closes it
# (workers-sdk#4326, #4727).
def cut(sql):
    text, trigger, body, deep = "", False, False, 0
    found = tokens.findall(sql)
    for at, token in enumerate(found):
        text += token
        word = token.upper()
        following = found[at + 1] if at + 1 < len(found) else ""
        if word == "TRIGGER":
            trigger = True
        elif word == "BEGIN" and trigger and following != "\r":
            body = True
        elif word == "END" and deep == 0:
            body = False
        elif token in "()":
            deep += 1 if token == "(" else -1
        elif token == ";" and not body:
            if text.strip(" \n\r\t;"):
                yield text
            text, trigger, deep = "", False, 0
    if re.sub(r"--[^\n]*|/\*.*?\*/", "", text, flags=re.S).strip(" \n\r\t;"):
        yield text


def do(db, parts):
    results = []
    for statement in parts:
        if statement.lstrip().upper().startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT")):
            return results, "cannot start a transaction within a transaction"
        try:
            cursor = db.execute(statement)
            names = [column[0] for column in cursor.description or []]
            results.append({"statement": statement, "results": [dict(zip(names, row)) for row in cursor], "changes": max(cursor.rowcount, 0)})
        except sqlite3.Error as error:
            return results, str(error)
    return results, ""


def run(db, sql, whole):
    if whole:
        db.execute("BEGIN")
        results, error = do(db, statements(sql))
        db.execute("ROLLBACK" if error else "COMMIT")
        if error:
            results = []
    else:
        results, error = do(db, cut(sql))
    tables = db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchone()
    return {"done": results, "tables": tables[0], "error": error}


for line in sys.stdin:
    asked = json.loads(line)
    if asked["id"] not in databases:
        databases[asked["id"]] = sqlite3.connect(":memory:", isolation_level=None)
    database = databases[asked["id"]]
    if "dump" in asked:
        made = [line for line in database.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
        answer = {"dump": made}
    else:
        answer = run(database, asked["sql"], asked["whole"])
    print(json.dumps(answer), flush=True)
