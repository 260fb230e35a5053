import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'

/** A database as an agent would keep entries in: the entry as JSON, its links in columns. */
export function recordEntries(path) {
  mkdirSync(dirname(path), { recursive: true })
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.exec(
    'CREATE TABLE entries (place INTEGER PRIMARY KEY, uuid TEXT UNIQUE, parent TEXT, answers TEXT, json TEXT);' +
      'CREATE INDEX answered ON entries (answers) WHERE answers IS NOT NULL; BEGIN',
  )
  const insert = database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?)')
  return {
    add: ({ uuid, parentUuid, fields }, line, place) =>
      insert.run(place, uuid, parentUuid, fields.sourceToolAssistantUUID ?? null, line),
    finish: () => {
      database.exec('COMMIT')
      database.pragma('wal_checkpoint(TRUNCATE)')
      database.close()
    },
  }
}

export function openDatabase(path) {
  return new Database(path, { readonly: true })
}

/** The branch from everything: all rows parsed, then the parents walked. */
export function selectAll(database, tip) {
  const entries = []
  // One at a time: the texts of all rows at once would be memory that nobody needs.
  for (const json of database.prepare('SELECT json FROM entries ORDER BY place').pluck().iterate())
    entries.push(JSON.parse(json))
  const byUuid = new Map(entries.map((entry) => [entry.uuid, entry]))
  const branch = new Set()
  for (let at = byUuid.get(tip); at; at = byUuid.get(at.parentUuid)) branch.add(at.uuid)
  return entries.filter(
    ({ uuid, sourceToolAssistantUUID }) => branch.has(uuid) || branch.has(sourceToolAssistantUUID),
  )
}

/** The branch from a recursive query, and only its rows parsed. */
export function selectBranch(database, tip) {
  const query = `
    WITH RECURSIVE branch (uuid, parent) AS (
      SELECT uuid, parent FROM entries WHERE uuid = ?
      UNION ALL
      SELECT entries.uuid, entries.parent FROM entries JOIN branch ON entries.uuid = branch.parent
    ), places (place) AS (
      SELECT place FROM entries JOIN branch USING (uuid)
      UNION
      SELECT place FROM entries JOIN branch ON entries.answers = branch.uuid
    )
    SELECT json FROM entries JOIN places USING (place) ORDER BY place`
  const entries = []
  for (const json of database.prepare(query).pluck().iterate(tip)) entries.push(JSON.parse(json))
  return entries
}

/**
 * A table that lines are appended to.
 *
 * @param options.inTransaction how many lines one transaction holds
 */
export function openAppendDatabase(path, { synchronous, inTransaction }) {
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.pragma(`synchronous = ${synchronous}`)
  database.exec('CREATE TABLE lines (place INTEGER PRIMARY KEY, line TEXT)')
  const insert = database.prepare('INSERT INTO lines (line) VALUES (?)')
  let open = 0
  const commit = () => {
    if (open > 0) database.exec('COMMIT')
    open = 0
  }
  return {
    append: (line) => {
      if (inTransaction === 1) {
        insert.run(line)
        return
      }
      if (open === 0) database.exec('BEGIN')
      insert.run(line)
      open += 1
      if (open === inTransaction) commit()
    },
    finish: commit,
    count: () => database.prepare('SELECT count(*) FROM lines').pluck().get(),
    close: commit,
  }
}
