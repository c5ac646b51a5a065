/**
 * A file in a folder that is sent as an archive. The archive is read while it is sent, and nothing is copied
 * before.
 */
export interface Contained {
  /** Path from the folder on, including the folder's name. */
  readonly path: string
  readonly file: File
}

/** Lists the files of a folder chosen in the browser's dialog. */
export const chosenIn = (list: FileList): readonly Contained[] =>
  [...list].map(file => ({ path: file.webkitRelativePath, file }))

/** Lists the files of a dropped folder, at any depth. */
export async function droppedIn(folder: FileSystemDirectoryEntry): Promise<readonly Contained[]> {
  const reader = folder.createReader()
  const found: Contained[] = []
  for (;;) {
    // The browser returns the entries of a folder in batches of up to 100.
    const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed))
    if (some.length === 0) return found
    for (const entry of some)
      if (entry.isDirectory) found.push(...(await droppedIn(entry as FileSystemDirectoryEntry)))
      else {
        const file = await new Promise<File>((done, failed) =>
          (entry as FileSystemFileEntry).file(done, failed),
        )
        found.push({ path: entry.fullPath.slice(1), file })
      }
  }
}

const block = 512

/**
 * @returns a tar archive of item folders; the chosen folder is left out of the paths unless it is an item
 * itself
 */
export function archiveOf(all: readonly Contained[]): File {
  const [folder = 'folder'] = all[0]?.path.split('/', 1) ?? []
  const isItem = all.some(({ path }) => /^[^/]+\/dublin_core\.xml$/.test(path))
  const parts = all.flatMap(({ path, file }) => {
    const name = isItem ? path : path.slice(folder.length + 1)
    return [...named(name), header('file', file.size, '0'), file, filling(file.size)]
  })
  return new File([...parts, new Uint8Array(2 * block)], `${folder}.tar`)
}

const filling = (size: number) => new Uint8Array((block - (size % block)) % block)

/**
 * Writes the name of a file as a header of its own, which allows any length and any letters (POSIX.1-2001
 * §pax).
 */
function named(name: string): readonly Uint8Array<ArrayBuffer>[] {
  const record = ` path=${name}\n`
  const bytes = new TextEncoder().encode(record).length
  // The length includes its own digits.
  const length = [1, 2, 3, 4, 5].map(digits => bytes + digits).find(one => String(one).length + bytes === one)
  const text = new TextEncoder().encode(`${length}${record}`)
  return [header('name', text.length, 'x'), text, filling(text.length)]
}

/** Writes a header (POSIX.1-2001 §ustar). */
function header(name: string, size: number, type: '0' | 'x'): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(block)
  const write = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  write(0, name)
  write(100, octal(0o644, 7))
  write(108, octal(0, 7))
  write(116, octal(0, 7))
  write(124, octal(size, 11))
  write(136, octal(0, 11))
  write(148, ' '.repeat(8))
  write(156, type)
  write(257, 'ustar\u000000')
  write(
    148,
    `${octal(
      bytes.reduce((sum, one) => sum + one, 0),
      6,
    )} `,
  )
  return bytes
}
