import type { Schemas } from '@carrel/client'
import type { Process } from '@carrel/client/processes'
import { addressOf } from '../../administration/declared.ts'
import { CarrelProblem, service } from '../../api.ts'

export const modes = ['replace', 'update', 'delete'] as const
export type Mode = (typeof modes)[number]
export const types = ['text', 'integer', 'number', 'boolean', 'date-time', 'json'] as const

/** The effect that an import would have, or the faults that prevent it. */
export type Preview = Schemas['ImportPreview']

export type PreviewField = Preview['fields'][number]

export type Recipe = Schemas['Recipe']
export type FieldRecipe = Schemas['FieldRecipe']

/** Ways to read a field: as a type, or as texts that become one. */
export const ways = [...types, 'decimal-comma', 'decimal-point', 'day-first', 'list'] as const
export type Way = (typeof ways)[number]

export interface Wanted {
  readonly entity: string
  readonly mode: Mode
  /** A rule for readers; the empty string keeps that of the entity. */
  readonly read: string
  readonly recipe: Recipe
}

export const keyOf = ({ key = [] }: Recipe): readonly string[] => [key].flat()

/** Returns the recipe of a field, by its name in the file. */
export const fieldOf = (recipe: Recipe, name: string): FieldRecipe => recipe.fields?.[name] ?? {}

/** Returns the recipe with another one for a field. A key field that gets another name stays one. */
export function withField(recipe: Recipe, name: string, field: FieldRecipe): Recipe {
  const { [name]: before = {}, ...others } = recipe.fields ?? {}
  const said = Object.fromEntries(
    Object.entries(field).filter(([, value]) => value !== undefined && value !== false),
  ) as FieldRecipe
  const fields = Object.keys(said).length === 0 ? others : { ...others, [name]: said }
  const [was, is] = [before.rename ?? name, field.rename ?? name]
  const { fields: _, ...rest } = recipe
  const key = keyOf(recipe).map(one => (one === was ? is : one))
  return {
    ...rest,
    ...(key.length > 0 && { key }),
    ...(Object.keys(fields).length > 0 && { fields }),
  }
}

/** Returns the recipe with another way to read a field. @param way the empty string: as it looks */
export function withWay(recipe: Recipe, name: string, way: Way | ''): Recipe {
  const { read: _, separator, collation: __, ...field } = fieldOf(recipe, name)
  return withField(recipe, name, {
    ...field,
    ...(way !== '' && { read: way }),
    ...(way === 'list' && { separator: separator ?? ';' }),
  })
}

/** Returns the recipe with an offer of the preview. Texts that mean empty are added to those that do. */
export function withOffer(recipe: Recipe, name: string, offer: FieldRecipe): Recipe {
  const { empty = [], ...field } = fieldOf(recipe, name)
  const all = [...new Set([...empty, ...(offer.empty ?? [])])]
  return withField(recipe, name, { ...field, ...offer, ...(all.length > 0 && { empty: all }) })
}

/** The recipe as it is sent. Changes use the key of the entity. */
export function sentRecipe({ mode, recipe }: Wanted): Recipe {
  const { key: _, ...rest } = recipe
  return mode === 'replace' ? recipe : rest
}

/** Delimiters of CSV files, with their names in the query parameters of the API. */
export const delimiterWords = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' } as const

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
