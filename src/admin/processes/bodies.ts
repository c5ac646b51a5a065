import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Addresses } from '../../http/addresses.ts'
import type { Process, ProcessState } from '../../model/processes.ts'
import type { Log } from './statements.ts'

/** Processes as DSpace's clients read them (process.model.ts), with additional members. */
const statuses: Readonly<Record<ProcessState, string>> = {
  scheduled: 'SCHEDULED',
  running: 'RUNNING',
  completed: 'COMPLETED',
  failed: 'FAILED',
  // DSpace has no other word for a process that didn't finish.
  cancelled: 'FAILED',
  interrupted: 'FAILED',
}

/** @returns undefined for a word that is no status */
export function statesOf(status: string): readonly ProcessState[] | undefined {
  const found = (Object.keys(statuses) as ProcessState[]).filter(state => statuses[state] === status)
  return found.length === 0 ? undefined : found
}
export const statusNames = [...new Set(Object.values(statuses))]

export const processAddress = ({ api }: Pick<Addresses, 'api'>, id: number) => `${api}/system/processes/${id}`

export function processBody(process: Process, addresses: Addresses) {
  const self = processAddress(addresses, process.id)
  const { state, progress, result, fault } = process
  return {
    processId: String(process.id),
    userId: process.eperson,
    creationTime: process.begun,
    startTime: state === 'scheduled' ? null : process.begun,
    endTime: process.ended,
    scriptName: process.kind,
    processStatus: statuses[state],
    parameters: Object.entries(process.parameters).map(([name, value]) => ({ name, value })),
    state,
    progress,
    result,
    fault,
    type: 'process',
    _links: {
      self: { href: self },
      script: { href: `${addresses.api}/system/scripts/${process.kind}` },
      output: { href: `${self}/output` },
      files: { href: `${self}/files` },
      filetypes: { href: `${self}/filetypes` },
      log: { href: `${self}/log` },
      events: { href: `${self}/events` },
    },
  }
}

/** Answers that a process has begun: 202, with its address. */
export const sendBegun = (reply: FastifyReply, process: Process, addresses: Addresses) =>
  reply
    .code(202)
    .header('location', processAddress(addresses, process.id))
    .send(processBody(process, addresses))

/** The log as DSpace's interface expects it: a bitstream whose content is the text. */
export function outputBody({ id }: Process, text: string, addresses: Addresses) {
  const self = processAddress(addresses, id)
  const uuid = outputUuid(id)
  const name = `process-${id}.log`
  const value = { value: name, language: null, authority: null, confidence: -1, place: 0 }
  return {
    id: uuid,
    uuid,
    name,
    handle: null,
    metadata: { 'dc.title': [value] },
    bundleName: null,
    sizeBytes: Buffer.byteLength(text),
    type: 'bitstream',
    _links: { content: { href: `${self}/log` }, self: { href: `${self}/output` } },
  }
}

/** Makes a UUID from the number, which is the same every time (RFC 9562 §5.8): the interface caches by UUID. */
function outputUuid(id: number): string {
  const hash = createHash('sha256').update(`process ${id}`).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

export function logText({ state, ended, fault }: Process, { lines, left }: Log): string {
  const all = lines.map(({ time, text }) => `${time} ${text}`)
  if (left > 0) all.push(`… and ${left.toLocaleString('en')} more lines, which were not kept`)
  if (ended !== null) all.push(`${ended} ${state}${fault === null ? '' : `: ${fault}`}`)
  return all.map(line => `${line}\n`).join('')
}
