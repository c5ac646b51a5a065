import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandEvent } from '../../../src/cli/store.ts'
import { StoreUnavailable } from '../../../src/lib/errors.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { fold } from '../../../src/storage/records/folding.ts'
import { listPath } from '../clients/listings.ts'
import { importText, ndjson } from '../data/imports.ts'
import { recordPath } from '../data/record-writes.ts'
import { adminOf, ask, assertUnavailable, bearer, times } from './nodes.ts'
import { type Service, startService, temporaryFolder } from './service.ts'
import { type Line, startLine, storeAt } from './standby.ts'
import { until } from './waiting.ts'

/** A node with a data folder and a line to the database of its own. */
export interface NodeOnLine extends Service {
  readonly line: Line
}

/** @param files the folder of files, which all nodes share */
export async function startNodeAt(
  t: TestContext,
  server: { readonly port: number },
  files: string,
  limits: { readonly statement?: number } = {},
): Promise<NodeOnLine> {
  const line = await startLine(t, server)
  const env = { CARREL_DATABASE_URL: storeAt(line), CARREL_FILES: files }
  const service = await startService(t, { dataFolder: temporaryFolder(t, 'sqlite'), env, limits })
  return { ...service, line }
}

/** Starts nodes on a database: the first creates the store. */
export async function startNodesAt(
  t: TestContext,
  server: { readonly port: number },
  count: number,
): Promise<readonly NodeOnLine[]> {
  const files = temporaryFolder(t, 'sqlite')
  const first = await startNodeAt(t, server, files)
  return [first, ...(await times(count - 1, () => startNodeAt(t, server, files)))]
}

/** Leads all nodes to a server, such as the one that was promoted. @returns when they say that they are ready */
export async function leadAll(
  nodes: readonly NodeOnLine[],
  server: { readonly port: number },
): Promise<void> {
  for (const { line } of nodes) line.leadTo(server)
  for (const node of nodes) await untilReady(node)
}

export const untilReady = (node: Service) =>
  until(
    'a node that is ready',
    () => ask(node, '/health/ready'),
    ({ status }) => status === 200,
  )

const entity = 'works'
const keys = Array.from({ length: 18 }, (_, at) => `I-${String(at + 1).padStart(3, '0')}`)

/** Adds 18 records with an empty log each, to which administrators write. @returns a token for one */
export async function addLogs(node: Service): Promise<string> {
  const token = await adminOf(node)
  const records = keys.map(id => ({ id, log: [0] }))
  await importText(node, ndjson(records), { entity, key: 'id', read: 'anonymous' })
  await node.storage.entities.changeWriteRule(entity, 'admin', commandEvent('entity.writers'))
  return token
}

/** Adds a number to the log of a record. */
export const addToLog = (node: Service, token: string, key: string, number: number) =>
  ask(node, recordPath(entity, key), {
    method: 'PATCH',
    headers: { ...bearer(token), 'content-type': 'application/json-patch+json' },
    body: JSON.stringify([{ op: 'add', path: '/log/-', value: number }]),
  })

interface Logged {
  readonly id: string
  readonly log: readonly number[]
}

/** Reads all logs, in the order of a field. */
export async function logsOf(node: Service, field = 'id'): Promise<ReadonlyMap<string, readonly number[]>> {
  const { status, text } = await ask(node, listPath(entity, { order_by: [{ field }] }))
  assert.equal(status, 200, text)
  return new Map((JSON.parse(text) as Logged[]).map(({ id, log }) => [id, log]))
}

export async function logOf(node: Service, key: string): Promise<readonly number[]> {
  const { status, text } = await ask(node, recordPath(entity, key))
  assert.equal(status, 200, text)
  return (JSON.parse(text) as Logged).log
}

export const worksOf = async (node: Service): Promise<RecordEntity> =>
  (await node.storage.entities.all()).get(entity) as RecordEntity

export const foldWorks = async (node: Service, works?: RecordEntity): Promise<boolean> =>
  fold(works ?? (await worksOf(node)), node.storage.entities)

/**
 * Parts of a test. What is acknowledged in `kept` is on the branch that goes on, what is written in `lost` is
 * not, and of what is written in `between`, nothing is said.
 */
export type Phase = 'kept' | 'between' | 'lost' | 'after'

interface Write {
  readonly number: number
  readonly key: string
  readonly node: number
  readonly begun: Phase
  acknowledged: Phase | undefined
}

export interface Writers {
  enter(phase: Phase): void
  /** Waits until every node has acknowledged some writes and answered some reads of this phase. */
  untilEachHas(count: number): Promise<void>
  /** Ends the writers, and compares every log and history on every node with what was acknowledged. */
  endAndCompare(): Promise<void>
}

/** Pause after a refusal, in ms. */
const pause = 20

/**
 * Starts a writer, a reader and a folder on each node. The reader checks that every answer has what was
 * acknowledged before, and nothing that was lost.
 */
export function startWriters(nodes: readonly NodeOnLine[], token: string): Writers {
  let phase: Phase = 'kept'
  let isOver = false
  const writes: Write[] = []
  let counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

  async function write(node: NodeOnLine, at: number): Promise<void> {
    const key = keys[Math.floor(Math.random() * keys.length)] ?? ''
    const one: Write = { number: writes.length + 1, key, node: at, begun: phase, acknowledged: undefined }
    writes.push(one)
    const answer = await addToLog(node, token, key, one.number)
    if (answer.status === 503) {
      assertUnavailable(answer)
      return void (await sleep(pause))
    }
    assert.equal(answer.status, 200, `${said(one)} was answered: ${answer.text}`)
    one.acknowledged = phase
    if (one.begun === phase) count(`writes ${at}`)
  }

  async function read(node: NodeOnLine, at: number): Promise<void> {
    const begun = phase
    const due = writes.filter(isDue)
    const field = Math.random() < 0.5 ? 'id' : 'log'
    const answer = await ask(node, listPath(entity, { order_by: [{ field }] }))
    if (answer.status === 503) return void (await sleep(pause))
    assert.equal(answer.status, 200, answer.text)
    const logs = new Map((JSON.parse(answer.text) as Logged[]).map(({ id, log }) => [id, log]))
    compare(logs, `a list on node ${at} requested in the phase \`${begun}\``, due, begun)
    if (begun === phase) count(`reads ${at}`)
  }

  /** True if every later answer must have a write. What is lost is so only after the failover. */
  const isDue = ({ begun, acknowledged }: Write) =>
    acknowledged === 'kept' || (begun === 'after' && acknowledged === 'after')

  function compare(
    logs: ReadonlyMap<string, readonly number[]>,
    where: string,
    due: readonly Write[],
    begun: Phase,
  ): void {
    const wrong: string[] = []
    for (const one of due) {
      const found = logs.get(one.key)?.filter(number => number === one.number).length ?? 0
      if (found !== 1) wrong.push(`${found === 0 ? 'lacks' : `has ${found} times`} ${said(one)}`)
    }
    if (begun === 'after')
      for (const one of writes)
        if (one.begun === 'lost' && one.acknowledged === 'lost' && logs.get(one.key)?.includes(one.number))
          wrong.push(`has ${said(one)}, which was lost`)
    assert.deepEqual(wrong, [], where)
  }

  const repeat = async (work: () => Promise<unknown>) => {
    while (!isOver) await work()
  }
  async function foldSometimes(node: NodeOnLine): Promise<void> {
    await foldWorks(node).catch(error => assert.ok(error instanceof StoreUnavailable, String(error)))
    await sleep(10 * pause)
  }
  const working = Promise.all(
    nodes.flatMap((node, at) => [
      repeat(() => write(node, at)),
      repeat(() => read(node, at)),
      repeat(() => foldSometimes(node)),
    ]),
  )
  const failed = working.then(
    () => undefined,
    (error: unknown) => {
      isOver = true
      return error
    },
  )

  return {
    enter: next => {
      phase = next
      counts = new Map()
    },
    untilEachHas: async wanted => {
      await until(
        `${wanted} writes and reads on each of ${nodes.length} nodes in the phase \`${phase}\``,
        () => (isOver ? undefined : counts),
        seen =>
          seen === undefined ||
          nodes.every((_, at) =>
            ['writes', 'reads'].every(what => (seen.get(`${what} ${at}`) ?? 0) >= wanted),
          ),
      )
      if (isOver) throw await failed
    },
    endAndCompare: async () => {
      isOver = true
      await working
      const due = writes.filter(isDue)
      for (const round of ['before', 'after']) {
        for (const [at, node] of nodes.entries())
          for (const field of ['id', 'log']) {
            const where = `the list by ${field} on node ${at}, ${round} the last fold`
            compare(await logsOf(node, field), where, due, 'after')
          }
        for (const node of nodes) await foldWorks(node)
      }
      for (const [at, node] of nodes.entries())
        for (const [key, log] of await logsOf(node)) await compareHistory(node, `node ${at}`, key, log)
    },
  }

  async function compareHistory(node: Service, where: string, key: string, log: readonly number[]) {
    const path = `${recordPath(entity, key)}?history=true&limit=100`
    const { status, text } = await ask(node, path, { headers: bearer(token) })
    // A record without any event was never written.
    assert.equal(status, 200, text)
    const events = (JSON.parse(text) as { event: string }[]).filter(({ event }) => event === 'record.change')
    assert.equal(events.length, Math.min(100, log.length - 1), `events of ${key} on ${where}: ${log}`)
  }
}

const said = ({ number, key, node, begun, acknowledged }: Write) =>
  `write ${number} of ${key}, sent to node ${node} in the phase \`${begun}\`${
    acknowledged === undefined ? '' : ` and acknowledged in \`${acknowledged}\``
  }`
