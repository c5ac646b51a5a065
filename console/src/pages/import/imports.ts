import type { Schemas } from '@carrel/client'
import type { Process } from '@carrel/client/processes'
import { addressOf } from '../../administration/declared.ts'
import type { Recipe } from '../../administration/recipes.ts'
import { CarrelProblem, service } from '../../api.ts'

export const modes = ['replace', 'update', 'delete'] as const
export type Mode = (typeof modes)[number]

/** The effect that an import would have, or the faults that prevent it. */
export type Preview = Schemas['ImportPreview']

export type PreviewField = Preview['fields'][number]

export interface Wanted {
  readonly entity: string
  readonly mode: Mode
  /** A rule for readers; the empty string keeps that of the entity. */
  readonly read: string
  readonly recipe: Recipe
}

/** The recipe as it is sent. Changes use the key of the entity. */
export function sentRecipe({ mode, recipe }: Wanted): Recipe {
  const { key: _, ...rest } = recipe
  return mode === 'replace' ? recipe : rest
}

/** Encodings that can be asked for; the service knows a few more. */
export const encodings = ['utf-8', 'utf-16le', 'windows-1252', 'windows-1250', 'windows-1251', 'macintosh']

/**
 * If more than one record in this many would be removed, the entity's name has to be typed as a confirmation.
 */
const share = 10

/** True if an import would remove so much that the user has to confirm it. */
export const takesMuch = ({ loss, changes }: Preview, before: number): boolean =>
  loss?.needsReplace === true || (changes?.deleted ?? 0) * share > before

const queryOf = (wanted: Wanted, upload: string) => ({
  mode: wanted.mode,
  upload,
  recipe: JSON.stringify(sentRecipe(wanted)),
  read: wanted.mode === 'replace' && wanted.read !== '' ? wanted.read : undefined,
})

const addressFor = ({ entity }: Wanted) => `${addressOf(entity)}/import`

/** Time in ms until a preview is tried again while the service makes others, such as one given up just before. */
const patience = 700

/** The readers matter to no preview. */
export async function preview(wanted: Wanted, upload: string, signal: AbortSignal): Promise<Preview> {
  const query = { ...queryOf({ ...wanted, read: '' }, upload), preview: true }
  for (;;)
    try {
      return await service.value.post<Preview>(addressFor(wanted), { query, signal })
    } catch (error) {
      if (!(error instanceof CarrelProblem) || error.status !== 503 || signal.aborted) throw error
      await new Promise(resolve => setTimeout(resolve, patience))
    }
}

/** @param replace true if all existing data of the entity may be removed */
export const beginImport = (wanted: Wanted, upload: string, replace: boolean): Promise<Process> =>
  service.value.post<Process>(addressFor(wanted), {
    query: { ...queryOf(wanted, upload), replace: replace && wanted.mode === 'replace' ? true : undefined },
  })

/** True for a name that a collection of records can have. */
export const isName = (name: string): boolean => /^[a-z][a-z0-9_-]{0,62}$/.test(name)

/** Derives a name for an entity from that of a file. */
export const nameFrom = (file: string): string =>
  file
    .replace(/(\.(csv|ndjson|jsonl|json|txt|gz))+$/i, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')

/** Number of bytes read from a file; this contains the first record in most cases. */
const beginning = 64 * 1024
const likelyKeys = ['id', 'uuid', 'key', 'identifier', 'code', 'nr', 'number']

/**
 * Returns the fields named at the beginning of the file, to guess its key; an empty list if the browser can't
 * read them.
 */
export async function firstFields(file: File): Promise<readonly string[]> {
  try {
    const isPacked = /\.gz$/i.test(file.name)
    const stream = isPacked ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()
    const text = (await readSome(stream)).replace(/^\uFEFF/, '')
    if (!/^\s*[[{]/.test(text)) return fieldsOfHeader(text)
    const [line = ''] = text.replace(/^\s*\[?\s*/, '').split('\n', 1)
    const record: unknown = JSON.parse(line.replace(/[,\]]\s*$/, ''))
    return typeof record === 'object' && record !== null ? Object.keys(record) : []
  } catch {
    return []
  }
}

async function readSome(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (text.length < beginning) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel().catch(() => {})
  return text
}

const cells = {
  ',': /"((?:[^"]|"")*)"|([^,]+)/g,
  ';': /"((?:[^"]|"")*)"|([^;]+)/g,
  '\t': /"((?:[^"]|"")*)"|([^\t]+)/g,
  '|': /"((?:[^"]|"")*)"|([^|]+)/g,
}

/** Reads the header of a CSV file (RFC 4180), with the delimiter that yields the most fields. */
const fieldsOfHeader = (text: string): readonly string[] => {
  const [line = ''] = text.replace(/^(\s*[\r\n])?("?sep=[,;\t|]"?(\r\n|\r|\n))?/i, '').split(/[\r\n]/, 1)
  const headers = Object.values(cells).map(cell =>
    [...line.matchAll(cell)].map(([, quoted, plain = '']) =>
      quoted === undefined ? plain : quoted.replaceAll('""', '"'),
    ),
  )
  return headers.reduce((best, one) => (one.length > best.length ? one : best), [])
}

export const guessKey = (fields: readonly string[]): readonly string[] => {
  const found =
    likelyKeys.flatMap(name => fields.filter(field => field.toLowerCase() === name))[0] ?? fields[0]
  return found === undefined ? [] : [found]
}
