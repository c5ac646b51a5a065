import { batch, signal } from '@preact/signals'
import { CarrelProblem, service } from '../api.ts'
import { type DataRecord, type Entity, keyText, pathOf, writes } from '../entities.ts'
import { readAsWritten, readExactly } from '../exact.ts'

/** A record as the service has it. */
export interface Stored {
  readonly record: DataRecord
  /** Its JSON, with every digit. */
  readonly text: string
  readonly tag: string
}

/** The values of a record for an editor, with numbers as they were written. */
export const writtenIn = (text: string): Readonly<Record<string, unknown>> =>
  readAsWritten(text) as Readonly<Record<string, unknown>>

/**
 * Number of writes after which tables are loaded again, too: of records that came or went, and of several at
 * once. A cell that is edited leaves the rows where they are.
 */
export const rounds = signal(0)
/** Number of times that a change met one of others, after which the history is loaded again. */
export const conflicts = signal(0)

interface Written {
  readonly record: DataRecord
  /** The number of the write. */
  readonly at: number
}
/** The records that were written one by one, by entity and key. */
const written = signal<ReadonlyMap<string, Written>>(new Map())
/** Maximum number of records in `written`: more than a table has rows. */
const mostWritten = 2_000

/**
 * Returns a record as it was written in this tab since a table was asked for. An earlier write is in the table,
 * or was followed by a later change.
 * @param since the number of writes when the table was asked for
 */
export function writtenSince(since: number, name: string): DataRecord | undefined {
  const found = written.value.get(name)
  return found && found.at > since ? found.record : undefined
}

/** Has everything loaded again after a write of records that came, went, or changed together. */
const loadAllAgain = (): void =>
  batch(() => {
    writes.value++
    rounds.value++
  })

export const nameOf = (entity: Entity, record: DataRecord): string =>
  `${entity.name}/${keyText(entity, record)}`

const storedIn = async (response: Response): Promise<Stored> => {
  const text = await response.text()
  return { text, record: readExactly(text) as DataRecord, tag: response.headers.get('etag') ?? '*' }
}

const addressOf = (entity: Entity, record: DataRecord): string => pathOf(entity.name, keyText(entity, record))

/** @param key as text, with commas between the values of a composite key */
export const load = async (entity: Entity, key: string, signal?: AbortSignal): Promise<Stored> =>
  storedIn(await service.value.request('GET', pathOf(entity.name, key), { signal }))

/** @returns undefined if the record was deleted meanwhile */
export async function loadAgain(entity: Entity, record: DataRecord): Promise<Stored | undefined> {
  try {
    return await load(entity, keyText(entity, record))
  } catch (error) {
    if (error instanceof CarrelProblem && error.status === 404) return undefined
    throw error
  }
}

/** The JSON of new values, by field. */
export type NewValues = Readonly<Record<string, string>>

/**
 * Changes some fields of a record if it still is as it was read. Each field is replaced as a whole: a merge
 * patch would keep members of its old value.
 */
export async function change(entity: Entity, { record, tag }: Stored, values: NewValues): Promise<Stored> {
  const operations = Object.entries(values).map(
    ([name, json]) => `{"op":"add","path":${JSON.stringify(`/${escaped(name)}`)},"value":${json}}`,
  )
  const changed = await storedIn(
    await service.value.request('PATCH', addressOf(entity, record), {
      headers: { 'content-type': 'application/json-patch+json', 'if-match': tag },
      body: `[${operations}]`,
    }),
  )
  show(entity, changed)
  return changed
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Adds a record if there is none with its key. */
export async function add(entity: Entity, text: string): Promise<Stored> {
  const added = await put(entity, text, { 'if-none-match': '*' })
  loadAllAgain()
  return added
}

/** Writes a record as it was before, if it is still as `now`. */
export async function writeAgain(entity: Entity, before: Stored, now: Stored): Promise<void> {
  show(entity, await put(entity, before.text, { 'if-match': now.tag }))
}

const put = async (
  entity: Entity,
  text: string,
  headers: Readonly<Record<string, string>>,
): Promise<Stored> =>
  storedIn(
    await service.value.request('PUT', addressOf(entity, readExactly(text) as DataRecord), {
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    }),
  )

/** Brings a deleted record back as it was, without the defaults of a new one. */
export async function bringBack(entity: Entity, { record, text }: Stored): Promise<void> {
  const key = JSON.stringify(keyText(entity, record))
  await sendList(entity, `{"records":[{"key":${key},"etag":null,"record":${text},"defaults":false}]}`)
  rounds.value++
}

export async function remove(entity: Entity, { record, tag }: Stored): Promise<void> {
  await service.value.request('DELETE', addressOf(entity, record), { headers: { 'if-match': tag } })
  loadAllAgain()
}

/** Shows a record that was written in the tables that are open. */
const show = (entity: Entity, { record }: Stored): void =>
  batch(() => {
    const at = ++writes.value
    const kept = [...written.value].slice(1 - mostWritten)
    written.value = new Map([...kept, [nameOf(entity, record), { record, at }]])
  })

/**
 * The JSON of a record with new values. Fields without a value are left out, except those that would get a default
 * which the form doesn't show.
 */
export function withValues({ fields }: Entity, text: string | undefined, values: NewValues): string {
  const before = text === undefined ? [] : Object.entries(writtenIn(text))
  const all = new Map(before.map(([name, value]) => [name, JSON.stringify(value)]))
  for (const [name, json] of Object.entries(values)) all.set(name, json)
  const standard = new Set(fields.flatMap(field => (field.default === undefined ? [] : field.name)))
  for (const name of standard) if (!all.has(name)) all.set(name, 'null')
  const members = [...all].filter(([name, json]) => json !== 'null' || standard.has(name))
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

/** The records that a change of several is about: some by their keys, or all that a query finds. */
export type Several =
  | { readonly kind: 'keys'; readonly keys: readonly string[] }
  /** @param query AST in JSON, or PQL */
  | { readonly kind: 'query'; readonly query: string }

/** The result of a change of several records, or of its dry run. */
export interface Changed {
  readonly count: number
  readonly changed: number
  readonly records: readonly {
    readonly key: string
    readonly before: DataRecord | null
    readonly after: DataRecord | null
  }[]
  /** The list that takes it back, as JSON. */
  readonly undo: string | undefined
}

/**
 * Sets a field of several records, or deletes them.
 * @param value the field and the JSON of its value; undefined deletes the records
 * @param expected the number of records that there must be; undefined only tries
 */
export async function changeSeveral(
  entity: Entity,
  several: Several,
  value: readonly [field: string, json: string] | undefined,
  expected: number | undefined,
): Promise<Changed> {
  const patch =
    value && `[{"op":"add","path":${JSON.stringify(`/${escaped(value[0])}`)},"value":${value[1]}}]`
  const query = {
    query: several.kind === 'query' ? several.query : undefined,
    ...(expected === undefined ? { dry_run: true } : { expected, undo: true }),
  }
  const list = () =>
    (several.kind === 'keys' ? several.keys : []).map(
      key => `{"key":${JSON.stringify(key)},${patch ? `"patch":${patch}` : '"record":null'}}`,
    )
  const response =
    several.kind === 'keys'
      ? await sendList(entity, `{"records":[${list()}]}`, query)
      : await service.value.request(patch ? 'PATCH' : 'DELETE', pathOf(entity.name), {
          query,
          ...(patch && { headers: { 'content-type': 'application/json-patch+json' }, body: patch }),
        })
  const text = await response.text()
  if (expected !== undefined) loadAllAgain()
  const { undo } = readAsWritten(text) as { readonly undo?: object }
  return { ...(readExactly(text) as Changed), undo: undo && JSON.stringify(undo) }
}

const sendList = (
  entity: Entity,
  body: string,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): Promise<Response> =>
  service.value.request('PATCH', pathOf(entity.name), {
    query,
    headers: { 'content-type': 'application/json' },
    body,
  })

/**
 * Takes the change of several records back. Those that others have changed since stay as they are.
 * @returns their number
 */
export async function undoSeveral(entity: Entity, undo: string): Promise<number> {
  try {
    await sendList(entity, undo)
    loadAllAgain()
    return 0
  } catch (error) {
    const keys = error instanceof CarrelProblem && error.status === 412 ? error.members.keys : undefined
    if (!Array.isArray(keys)) throw error
    const stay = new Set(keys)
    const { records } = readAsWritten(undo) as { readonly records: readonly { readonly key: string }[] }
    const rest = records.filter(({ key }) => !stay.has(key))
    if (rest.length === 0) throw error
    await sendList(entity, JSON.stringify({ records: rest }))
    loadAllAgain()
    return stay.size
  }
}

/** A change in the history of a record. */
export interface Past {
  readonly id: number
  readonly time: string
  readonly event: string
  readonly by: string | null
  readonly changes: { readonly before: DataRecord | null; readonly after: DataRecord | null } | null
}

export const loadHistory = async (
  entity: Entity,
  key: string,
  before: number | undefined,
  signal?: AbortSignal,
): Promise<readonly Past[]> => {
  const query = { history: true, before }
  const response = await service.value.request('GET', pathOf(entity.name, key), { query, signal })
  return readExactly(await response.text()) as readonly Past[]
}
