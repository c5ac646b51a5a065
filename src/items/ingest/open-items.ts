import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ImportError } from '../../import/import-error.ts'
import { type Candidate, type Candidates, itemsAtOnce, type SourceOptions } from './candidates.ts'
import { BadItem, type FoundItem, toItem } from './item.ts'
import { createMetadata, type ListedFile, parseContents, parseMetadata } from './item-folder.ts'
import { manifestName, openManifest } from './manifest.ts'
import { folderMark, type Origin } from './origin.ts'
import { macFolder } from './packed.ts'
import { findFiles, readText, toBadItem } from './read-file.ts'
import { parseReaders } from './readers.ts'
import { hintFor, visible } from './similar-name.ts'

/**
 * Reads DSpace's Simple Archive Format: a folder of item folders. Each has `dublin_core.xml` and optionally
 * `metadata_<schema>.xml`, `contents`, `handle`, `collections` and, as our addition, `readers`.
 * @param folder path without links
 * @throws ImportError if it holds no item folder
 */
async function openArchive(folder: string, options: SourceOptions): Promise<Candidates> {
  // The names alone are held; a million take some 100 MB. They are sorted, so that each run reports in the same order.
  const names = (await readdir(folder)).filter(one => !one.startsWith('.') && one !== macFolder).sort()
  const similar = names.find(one => one.trim().toLowerCase() === manifestName)
  if (similar !== undefined)
    throw new ImportError(`${folder} has ${visible(similar)}; rename it to ${manifestName}`)
  if (!(await hasFolder(folder, names)))
    throw new ImportError(
      `there is nothing to ingest in ${folder}: neither ${manifestName} nor item folders with dublin_core.xml`,
    )
  return readArchive(folder, names, options)
}

/** True if a name is not a plain file. Usually the first one is a folder. */
async function hasFolder(folder: string, names: readonly string[]): Promise<boolean> {
  for (const name of names) if (!(await lstat(join(folder, name))).isFile()) return true
  return false
}

async function* readArchive(folder: string, names: readonly string[], options: SourceOptions): Candidates {
  for (let at = 0; at < names.length; at += itemsAtOnce) {
    const found = await Promise.all(
      names.slice(at, at + itemsAtOnce).map(one => toCandidate(join(folder, one), one, options)),
    )
    yield {
      candidates: found.filter(one => one !== undefined),
      share: Math.min(1, (at + itemsAtOnce) / names.length),
    }
  }
}

/** @returns undefined for a plain file beside the item folders */
async function toCandidate(
  folder: string,
  where: string,
  options: SourceOptions,
): Promise<Candidate | undefined> {
  try {
    const found = await lstat(folder)
    if (found.isFile()) return undefined
    if (!found.isDirectory())
      throw new BadItem('it is a link or a special file, not a folder; put the item folder itself there')
    return { kind: 'item', where, item: await readItem(folder, where, folderMark(folder, found), options) }
  } catch (error) {
    const bad = toBadItem(error, folder)
    if (bad instanceof BadItem) return { kind: 'bad', where, reason: bad.message }
    throw error
  }
}

/** Names of the files that describe an item. */
const descriptionFile =
  /^(dublin_core\.xml|metadata_.+\.xml|contents|handle|collections|readers|relationships)$/

async function readItem(
  folder: string,
  own: string,
  mark: string,
  options: SourceOptions,
): Promise<FoundItem> {
  const { naming } = options
  const names = new Set(await readdir(folder))
  if (!names.has('dublin_core.xml'))
    throw new BadItem(
      `there is no dublin_core.xml in it${await hintFor(folder, 'dublin_core.xml', ': rename it to dublin_core.xml')}`,
    )
  for (const name of names)
    if (!descriptionFile.test(name) && descriptionFile.test(name.trim().toLowerCase()))
      throw new BadItem(`it has ${visible(name)}; rename it to ${name.trim().toLowerCase()}`)
  const text = async <T>(name: string, parse: (text: string) => T): Promise<T | undefined> =>
    names.has(name) ? within(name, async () => parse(await readText(folder, name))) : undefined

  const metadata = createMetadata()
  for (const name of [...names]
    .filter(one => /^(dublin_core|metadata_.+)\.xml$/.test(one))
    .sort(dublinCoreFirst)) {
    const schema = /^metadata_(.+)\.xml$/.exec(name)?.[1] ?? 'dc'
    for (const value of (await text(name, xml => parseMetadata(xml, schema))) ?? [])
      metadata.add(value.key, value)
  }
  const handle = await text('handle', one => firstLine(one))
  const origin: Origin =
    handle === undefined
      ? { identifier: naming.isGiven ? 'given' : 'made', folder: naming.isKept ? mark : null }
      : { identifier: 'given', folder: null }
  return toItem({
    origin,
    identifier: handle ?? `${naming.name}/${own}`,
    metadata: metadata.all,
    collections: (await text('collections', linesOf)) ?? [],
    readers: (await text('readers', one => readersOf(one, options))) ?? null,
    files: await findListed(
      folder,
      (await text('contents', one => parseContents(one, options.groups))) ?? refuseUnlisted(names),
    ),
  })
}

const findListed = (folder: string, listed: readonly ListedFile[]) =>
  within('contents', () => findFiles(folder, listed))

const dublinCoreFirst = (a: string, b: string) =>
  Number(b === 'dublin_core.xml') - Number(a === 'dublin_core.xml') || (a < b ? -1 : 1)

const linesOf = (text: string) =>
  text
    .split(/\r\n|\r|\n/)
    .map(line => line.trim())
    .filter(line => line !== '')

function firstLine(text: string): string {
  const [line] = linesOf(text)
  if (line === undefined) throw new BadItem('it is empty; write the handle into it, or remove the file')
  return line
}

function readersOf(text: string, { groups }: SourceOptions) {
  const lines = linesOf(text)
  if (lines.length === 0) throw new BadItem('it is empty; for administrators only, write admin')
  return parseReaders(lines, groups)
}

/** Refuses files that no `contents` lists. A missing list is more likely a mistake than an item without files. */
function refuseUnlisted(names: ReadonlySet<string>): ListedFile[] {
  const file = [...names].find(name => !descriptionFile.test(name) && !name.startsWith('.'))
  if (file !== undefined) throw new BadItem(`it has ${file} but no contents file that lists it`)
  return []
}

/** Adds the name of the file to the message of a BadItem. */
async function within<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BadItem) throw new BadItem(`${name}: ${error.message}`, { cause: error })
    throw error
  }
}

/** @throws ImportError for a path at which no folder is */
export function requireItems(path: string): void {
  const given = statSync(path, { throwIfNoEntry: false })
  if (!given) throw new ImportError(`there is no folder ${path}`)
  if (!given.isDirectory())
    throw new ImportError(
      `${path} is a file; give the folder that holds ${manifestName} or DSpace's item folders`,
    )
}

/**
 * Opens a folder with `manifest.csv`, or a folder of DSpace's item folders.
 * @throws ImportError if it is neither
 */
export async function openItems(path: string, options: SourceOptions): Promise<Candidates> {
  requireItems(path)
  const folder = realpathSync(path)
  // A dangling link counts, because the folder was meant to have a manifest.
  const manifest = lstatSync(join(folder, manifestName), { throwIfNoEntry: false })
  if (manifest) {
    const other =
      manifest.isFile() &&
      readdirSync(folder, { withFileTypes: true }).find(
        one => one.isDirectory() && existsSync(join(folder, one.name, 'dublin_core.xml')),
      )
    if (other)
      throw new ImportError(
        `${path} has both ${manifestName} and the item folder ${other.name}; put them into separate folders`,
      )
    return openManifest(folder, options)
  }
  if (existsSync(join(folder, 'dublin_core.xml')))
    throw new ImportError(`${path} is itself an item folder; give the folder that contains it`)
  try {
    return await openArchive(folder, options)
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    throw syscall === undefined ? error : new ImportError(`can't read ${path} (${code})`, { cause: error })
  }
}
