import assert from 'node:assert/strict'
import { type Client, nobody } from '../../../src/lib/fair-queue.ts'
import type { Page } from '../../../src/model/entities.ts'
import { type Condition, type FieldRef, listOf, type Plan } from '../../../src/model/plan.ts'
import type { RecordFormat } from '../../../src/model/record-format.ts'
import type { Service } from '../service/service.ts'

/** A record read by a plan. Tests create plans by hand and run them on a real store. */
export type PlainRecord = Readonly<Record<string, unknown>>

const all: Page = { order: [], offset: 0, limit: null, total: true }

/** Refers to a whole field. */
export const field = (name: string, type: FieldRef['type']): FieldRef => ({ name, path: [], type })

/** Returns a plan that lists the matching records of an entity. */
export async function planOn(
  service: Service,
  entity: string,
  where: Condition | null,
  page: Partial<Page> = {},
): Promise<Plan> {
  const found = (await service.storage.entities.all()).get(entity)
  assert.ok(found)
  return { ...listOf(found, { ...all, ...page }), where }
}

/** @returns the total, and the list in this format */
export async function textOf(
  service: Service,
  plan: Plan,
  format: RecordFormat,
  client: Client = nobody,
): Promise<{ total: number | undefined; text: string }> {
  const viewer = { kind: 'administrator' } as const
  const { total, body } = await service.storage.entities.list(plan, viewer, format, client)
  if (body instanceof Uint8Array) return { total, text: Buffer.from(body).toString() }
  const pieces: string[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece).toString())
  return { total, text: pieces.join({ json: ',', ndjson: '\n', csv: '\r\n' }[format]) }
}

export async function run(
  service: Service,
  plan: Plan,
  client: Client = nobody,
): Promise<{ total: number | undefined; rows: PlainRecord[] }> {
  const { total, text } = await textOf(service, plan, 'json', client)
  return { total, rows: JSON.parse(`[${text}]`) as PlainRecord[] }
}
