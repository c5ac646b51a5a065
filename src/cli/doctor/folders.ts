import type { Config } from '../../config/config.ts'
import { noStore } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import { type Check, type Facts, type Finding, findingsAbout } from './finding.ts'
import type { Entry, FolderFacts } from './folder-facts.ts'

const permissions = findingsAbout('permissions')
const fileSystem = findingsAbout('file system')
const files = findingsAbout('files')
const space = findingsAbout('space')
const log = findingsAbout('write-ahead log')

const mebibyte = 1024 ** 2
const inMebibytes = (bytes: number) => `${Math.floor(bytes / mebibyte).toLocaleString('en')} MiB`
const octal = (mode: number) => mode.toString(8).padStart(4, '0')
const nameOf = ({ role }: FolderFacts) => (role === 'data' ? 'data folder' : 'folder of files')

/** Checks who may read and write the data of Carrel. Windows has other rights. */
export const checkModes: Check = function* ({ folders, configFile }) {
  if (process.platform === 'win32') return
  for (const folder of folders) {
    const found = [...folder.entries.flatMap(entry => [...wrongMode(folder, entry)]), ...otherOwners(folder)]
    yield* found
    if (found.length === 0)
      yield permissions.ok(`other users can't read the ${nameOf(folder)} ${folder.path}`)
  }
  if (configFile?.isWritable)
    yield permissions.error(
      `every user of this machine can change the settings in ${configFile.path}`,
      `chmod o-w ${configFile.path}`,
    )
}

function* wrongMode({ role }: FolderFacts, { name, path, mode }: Entry): Iterable<Finding> {
  const { warning, error } = permissions
  const shown = `${path} has the mode ${octal(mode)}`
  // This entry is checked as the folder of files.
  if (role === 'data' && name === 'files') return
  if (name === 'secret') {
    if ((mode & 0o077) !== 0)
      yield error(
        `${shown}: other users can read the secret, and make tokens of anyone with it and a copy of the store`,
        `chmod 600 ${path}, then \`carrel secret rotate\` and \`carrel eperson logout --all\`: everyone has to log in again`,
      )
  } else if ((mode & 0o002) !== 0)
    yield error(`${shown}: every user of this machine can change it`, `chmod o-rwx ${path}`)
  else if (name.startsWith('carrel.db') && (mode & 0o044) !== 0)
    yield error(`${shown}: other users can read accounts and the audit trail`, `chmod 600 ${path}`)
  // The group may be the proxy's, which sends the files (F4).
  else if ((mode & 0o005) !== 0 && role === 'files')
    yield warning(`${shown}: every user of this machine can read the files`, `chmod o-rwx ${path}`)
  else if ((mode & 0o005) !== 0)
    yield warning(`${shown}: every user of this machine can look into it`, `chmod o-rwx ${path}`)
}

/**
 * A command that was run as another user, such as root, leaves files that the service can't use. The folder
 * itself may belong to any user, such as the root of a volume.
 */
function* otherOwners({ entries }: FolderFacts): Iterable<Finding> {
  const store = entries.find(({ name }) => name === 'carrel.db')
  if (!store) return
  for (const { path, name, owner } of entries)
    if (name !== '.' && owner !== store.owner)
      yield permissions.error(
        `${path} belongs to user ${owner}, but carrel.db belongs to user ${store.owner}: a command was run as another user than the service`,
        'chown both to the user of the service, and run commands as that user',
      )
}

/** Checks whether the folder of files is there. The first ingest makes it. */
export const checkFilesFolder: Check = function* ({ config: { files: place }, folders, store }) {
  if (place.kind === 'bucket' || folders.some(({ role }) => role === 'files')) return
  const missing = `the folder of files ${place.folder} is not there, or can't be looked into`
  if (store?.hasFiles)
    yield files.warning(
      `${missing}: downloads fail`,
      'mount or restore it, set CARREL_FILES to where it is, or run the command as the user of the service',
    )
  else yield files.note(missing, 'the first ingest makes it; nodes of one service must share it')
}

/** Checks whether the bucket of files answers, takes the credentials, and keeps and returns what it is sent. */
export async function checkBucket({ files: place }: Pick<Config, 'files'>): Promise<readonly Finding[]> {
  if (place.kind === 'folder') return []
  const bucket = await openFiles(place, noStore)
  try {
    await bucket.require()
    const { wrong, lacking } = (await bucket.probe?.()) ?? { wrong: [], lacking: [] }
    return [
      wrong.length === 0
        ? files.ok(`the bucket ${bucket.place} answers, and keeps and returns what it is sent`)
        : files.error(
            `the bucket ${bucket.place} does not do what was asked: ${wrong.join('; ')}`,
            'correct the server, or the cache or gateway in front of it: files that it keeps wrongly are refused',
          ),
      ...lacking.map(what => files.note(`the bucket ${bucket.place} lacks something: ${what}`)),
    ]
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return [files.error(error.message, 'correct it: until then, downloads and uploads are answered with 503')]
  }
}

/** Kinds of network file systems (statfs(2), and linux/magic.h), where locks and shared memory don't hold. */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x5346414f, 'AFS'],
  [0x73757245, 'Coda'],
  [0x786f4256, 'a shared folder of VirtualBox'],
])
const fuse = 0x65735546
const memory = new Set([0x01021994, 0x858458f6])

/**
 * Checks file systems: SQLite's write-ahead log needs a file system of this machine
 * (https://sqlite.org/wal.html).
 */
export const checkFileSystems: Check = function* ({ folders }) {
  const { ok, note, warning, error } = fileSystem
  for (const folder of folders) {
    const { role, path } = folder
    // The number is negative if the field is signed.
    const kind = folder.fileSystem >>> 0
    const network = networks.get(kind)
    if (memory.has(kind))
      yield warning(
        `the ${nameOf(folder)} ${path} is in memory: it is gone when the machine restarts`,
        'move it to a disk',
      )
    else if (network !== undefined && role === 'data')
      yield error(
        `the data folder ${path} is on a network (${network}): locks don't hold there, and the store will be damaged`,
        'move it to a disk of this machine; for several machines use PostgreSQL (docs/deployment.md)',
      )
    else if (kind === fuse && role === 'data')
      yield note(
        `the data folder ${path} is on a file system in user space (FUSE)`,
        "make sure that it isn't on a network, and that it has POSIX locks and shared memory",
      )
    else yield ok(`the ${nameOf(folder)} ${path} is on ${network ?? 'a file system of this machine'}`)
  }
}

const littleSpace = 1024 * mebibyte
const noSpace = 100 * mebibyte
const littleShare = 0.05

export const checkSpace: Check = function* ({ folders }) {
  const { ok, warning, error } = space
  for (const folder of folders) {
    const { path, free, size, inodes, freeInodes } = folder
    const left = `${inMebibytes(free)} of ${inMebibytes(size)} are free for the ${nameOf(folder)} ${path}`
    const advice = 'make room: when the disk is full, whatever writes is answered with 503'
    if (free < noSpace) yield error(left, advice)
    else if (free < littleSpace || free < size * littleShare) yield warning(left, advice)
    else yield ok(left)
    if (inodes > 0 && freeInodes < inodes * littleShare)
      yield warning(
        `only ${freeInodes.toLocaleString('en')} of ${inodes.toLocaleString('en')} inodes are free for ${path}: no more files can be made when they are used up`,
        'remove small files, or recreate the file system with more inodes',
      )
  }
}

/**
 * Size in bytes of a large carrel.db-wal, which is emptied every 4 MB unless a reader keeps an old snapshot.
 */
const largeLog = 64 * mebibyte

/** Checks the size of the write-ahead log, which keeps its size until the service stops. */
export const checkLog: Check = function* ({ folders }: Facts) {
  const file = folders.flatMap(({ entries }) => entries).find(({ name }) => name === 'carrel.db-wal')
  if (!file) return
  if (file.size > largeLog)
    yield log.warning(
      `${file.path} has grown to ${inMebibytes(file.size)}: something keeps an old snapshot, such as \`carrel backup\` or another program that reads the store`,
      'restart the service to shrink it; if it grows again, look for what reads the store for long',
    )
  else yield log.ok(`${file.path} is ${inMebibytes(file.size)}`)
}
