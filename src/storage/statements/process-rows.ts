import type { NewProcess, Process, ProcessKind, ProcessState } from '../../model/processes.ts'
import { type Log, maxLines, type ProcessSearch, type Rival, type Turn } from '../processes.ts'

/** Rows of processes, the same on both engines: JSON is kept as text. */
export const processColumns =
  'id, kind, state, eperson, parameters, begun, ended, progress, result, fault, owner, beat, cancelled, written'

export type ProcessRow = {
  readonly id: number
  readonly kind: ProcessKind
  readonly state: ProcessState
  readonly eperson: string | null
  readonly parameters: string
  readonly begun: string
  readonly ended: string | null
  readonly progress: string | null
  readonly result: string | null
  readonly fault: string | null
}

export const toProcess = (row: ProcessRow): Process => ({
  id: row.id,
  kind: row.kind,
  state: row.state,
  eperson: row.eperson,
  parameters: JSON.parse(row.parameters) as Process['parameters'],
  begun: row.begun,
  ended: row.ended,
  progress: parsed<Process['progress']>(row.progress),
  result: parsed<Process['result']>(row.result),
  fault: row.fault,
})

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))

export const jsonOf = (value: object | null): string | null => (value === null ? null : JSON.stringify(value))

export const newProcess = (id: number, state: ProcessState, begun: string, asked: NewProcess): Process => ({
  id,
  kind: asked.kind,
  state,
  eperson: asked.eperson,
  parameters: asked.parameters,
  begun,
  ended: null,
  progress: null,
  result: null,
  fault: null,
})

/** @param others of the same kind, that run or wait */
export function rivalAmong(
  { aloneIn, parameters }: NewProcess,
  others: readonly Pick<ProcessRow, 'id' | 'parameters'>[],
): Rival | undefined {
  if (aloneIn === undefined) return undefined
  const known = (row: Pick<ProcessRow, 'parameters'>) => JSON.parse(row.parameters) as Process['parameters']
  const other = others.find(row => known(row)[aloneIn] === parameters[aloneIn])
  return other && { rival: other.id }
}

/** @param first the process of this owner that has waited longest; null: none waits */
export const turnOf = (id: number, running: number, first: number | null, atOnce: number | null): Turn =>
  first === id && (atOnce === null || running < atOnce) ? 'runs' : 'waits'

export const logOf = (lines: Log['lines'], written: number): Log => ({
  lines,
  left: Math.max(0, written - maxLines),
})

/** The order of a search, with the number as the last word. Values of the client never reach it. */
export const orderOf = ({ order: { by, falling } }: ProcessSearch): string => {
  const way = falling ? 'DESC' : 'ASC'
  return by === 'id' ? `id ${way}` : `coalesce(${by}, '') ${way}, id ${way}`
}
