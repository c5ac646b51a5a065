import type { ReaderRule, Readers } from '../../model/readers.ts'
import { BadItem, maxFiles, refuseTooMany } from './item.ts'
import { groupReader, type KnownGroups, maxRuleLength, parseReaders } from './readers.ts'

/** A line of an item's file `contents`. */
export interface ListedFile {
  /** Path relative to the item's folder. */
  readonly path: string
  readonly bundle: string
  readonly description: string | null
  /** The readers; null if the line doesn't name any. */
  readonly readers: Readers | null
}

/**
 * Parses DSpace's list of an item's files: one file per line, followed by fields separated by tabs.
 * `readers:` is our addition.
 * @returns the files, primary ones first
 * @throws BadItem naming the line
 */
export function parseContents(text: string, groups: KnownGroups): ListedFile[] {
  const files: (ListedFile & { primary: boolean })[] = []
  for (const [at, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (line.trim() === '') continue
    // This is checked early, because a line of two bytes takes hundreds of bytes in memory.
    refuseTooMany(files.length + 1, maxFiles, 'files')
    try {
      files.push(parseLine(line, groups))
    } catch (error) {
      if (error instanceof BadItem) throw new BadItem(`line ${at + 1}: ${error.message}`)
      throw error
    }
  }
  return files
    .toSorted((a, b) => Number(b.primary) - Number(a.primary))
    .map(({ primary: _, ...file }) => file)
}

/** Returns the bundle of a file whose line names none, as DSpace chooses it. */
export const bundleOf = (path: string): string => (path === 'license.txt' ? 'LICENSE' : 'ORIGINAL')

/** Fields for DSpace's image viewer, which Carrel doesn't have. */
const ignoredFields = new Set(['iiif-label', 'iiif-width', 'iiif-height', 'iiif-toc'])

/** Maximum number of fields after a file's name: five kinds, and several rules for readers. */
const maxFields = 100

function parseLine(line: string, groups: KnownGroups): ListedFile & { primary: boolean } {
  const [path = '', ...fields] = line.split('\t', maxFields + 2).map(field => field.trim())
  if (/\\t\s*(bundle|permissions|description|primary|readers):/.test(line))
    throw new BadItem(
      'it has a backslash and a t, where a tab must be; printf writes a tab for \\t, and most editors write one with the key Tab',
    )
  if (/\s(bundle|permissions|description|primary|readers):/.test(path))
    throw new BadItem('fields must be separated by tabs, not spaces')
  if (fields.length > maxFields) throw new BadItem(`it has more than ${maxFields} fields`)
  if (/^-r\s/.test(line.trim()))
    throw new BadItem(
      'registered files (-r -s … -f …) are not supported; put the file into the folder and name it',
    )
  let bundle: string | undefined
  let description: string | undefined
  let rules: ReaderRule[] | undefined
  const restrict = (more: Readers) => {
    rules ??= []
    rules.push(...more)
  }
  let primary: boolean | undefined
  const once = (name: string, before: unknown) => {
    if (before !== undefined) throw new BadItem(`it has ${name}: twice; write it once`)
  }
  for (const field of fields) {
    const [, name = field, value = ''] = /^([\w-]+):(.*)$/s.exec(field) ?? []
    if (field === '') continue
    if (name === 'bundle') {
      once(name, bundle)
      bundle = value.trim()
    } else if (name === 'description') {
      once(name, description)
      description = value.trim()
    } else if (name === 'primary') {
      once(name, primary)
      primary = isTrue(value)
    } else if (name === 'permissions') restrict(parsePermissions(value, groups))
    else if (name === 'readers') restrict(parseReaders([value], groups))
    else if (!ignoredFields.has(name))
      throw new BadItem(
        `${JSON.stringify(field)} is not a field of a file; use bundle:, permissions:, description:, primary:true or readers:`,
      )
  }
  return {
    path,
    bundle: bundle ?? bundleOf(path),
    description: description || null,
    readers: rules ?? null,
    primary: primary ?? false,
  }
}

function isTrue(value: string): boolean {
  if (value.trim() !== 'true' && value.trim() !== 'false')
    throw new BadItem(`primary: takes true or false, not ${JSON.stringify(value)}`)
  return value.trim() === 'true'
}

/**
 * Parses `-r 'Group name'`, with or without quotes: only this group may read the file. `-w` names a group
 * that may write; as in DSpace, others may not read the file then. Carrel takes no write rules from a source,
 * so only administrators may.
 */
function parsePermissions(value: string, groups: KnownGroups): ReaderRule[] {
  if (value.length > maxRuleLength)
    throw new BadItem(`permissions: is longer than ${maxRuleLength} characters`)
  const [, kind, quoted, bare] = /^\s*-([rw])\s*(?:'([^']+)'|([^'\s][^']*))\s*$/i.exec(value) ?? []
  const group = (quoted ?? bare)?.trim()
  if (kind === undefined || group === undefined || group === '')
    throw new BadItem(`permissions: takes -r 'Group name', not ${JSON.stringify(value)}`)
  const inQuotes = /^"(.+)"$/.exec(group)?.[1]
  if (inQuotes !== undefined && !groups.has(group))
    throw new BadItem(
      `permissions: takes the name of a group in single quotes, not in double ones; write -${kind} '${inQuotes}'`,
    )
  if (kind.toLowerCase() === 'w') return []
  return [{ reader: group === 'Anonymous' ? 'anonymous' : groupReader(group, groups) }]
}
