/** A folder as an archive that the service takes: it is read while it is sent, and no part of it is copied before. */
export interface Contained {
  /** From the folder on, with its name. */
  readonly path: string
  readonly file: File
}

/** What the browser gives of a folder that was chosen. */
export const chosenIn = (list: FileList): readonly Contained[] =>
  [...list].map(file => ({ path: file.webkitRelativePath, file }))

/** What is in a folder that was dropped, however deep. */
export async function droppedIn(folder: FileSystemDirectoryEntry): Promise<readonly Contained[]> {
  const reader = folder.createReader()
  const found: Contained[] = []
  for (;;) {
    // A folder is read in parts of a hundred.
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

/** @returns a tar; the items are folders in it, so a folder of them is left out, and one that is an item stays */
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

/** POSIX.1-2001 §pax: a name of any length and letters stands in a header of its own. */
function named(name: string): readonly Uint8Array<ArrayBuffer>[] {
  const record = ` path=${name}\n`
  const bytes = new TextEncoder().encode(record).length
  // The length counts itself, too.
  const length = [1, 2, 3, 4, 5].map(digits => bytes + digits).find(one => String(one).length + bytes === one)
  const text = new TextEncoder().encode(`${length}${record}`)
  return [header('name', text.length, 'x'), text, filling(text.length)]
}

/** POSIX.1-2001 §ustar. */
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
