import type { Config } from '../../config/config.ts'
import { noStore } from '../../files/files.ts'
import { openFiles } from '../../files/open-files.ts'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { Finding } from '../../lib/findings.ts'
import { type Check, type Facts, findingsAbout } from './finding.ts'
import type { Entry, FolderFacts } from './folder-facts.ts'

const permissions = findingsAbout('permissions')
const fileSystem = findingsAbout('file system')
const files = findingsAbout('files')
const space = findingsAbout('space')
const log = findingsAbout('write-ahead log')

/** Checks who may read and write the data of Carrel. Windows has other rights. */
export const checkModes: Check = function* ({ folders, configFile }) {
  if (process.platform === 'win32') return
  for (const folder of folders) {
    const found = [...folder.entries.flatMap(entry => [...wrongMode(folder, entry)]), ...otherOwners(folder)]
    yield* found
    if (found.length === 0) yield permissions.ok('folder-private', namedBy(folder))
  }
  if (configFile?.isWritable) yield permissions.error('settings-writable', { path: configFile.path })
}

const namedBy = ({ role, path }: FolderFacts) => ({ folder: role, path })

function* wrongMode({ role }: FolderFacts, { name, path, mode }: Entry): Iterable<Finding> {
  const { warning, error } = permissions
  const shown = { path, mode: mode.toString(8).padStart(4, '0') }
  // This entry is checked as the folder of files.
  if (role === 'data' && name === 'files') return
  if (name === 'secret') {
    if ((mode & 0o077) !== 0) yield error('secret-readable', shown)
  } else if ((mode & 0o002) !== 0) yield error('entry-writable', shown)
  else if (name.startsWith('carrel.db') && (mode & 0o044) !== 0) yield error('store-readable', shown)
  // The group may be the proxy's, which sends the files (F4).
  else if ((mode & 0o005) !== 0) yield warning(role === 'files' ? 'files-readable' : 'entry-readable', shown)
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
      yield permissions.error('owner-differs', { path, owner, storeOwner: store.owner })
}

/** Checks whether the folder of files is there. The first ingest makes it. */
export const checkFilesFolder: Check = function* ({ config: { files: place }, folders, store }) {
  if (place.kind === 'bucket' || folders.some(({ role }) => role === 'files')) return
  const { folder: path } = place
  if (store?.hasFiles) yield files.warning('files-missing', { path })
  else yield files.note('files-not-yet', { path })
}

/** Checks whether the bucket of files answers, takes the credentials, and keeps and returns what it is sent. */
export async function checkBucket({ files: place }: Pick<Config, 'files'>): Promise<readonly Finding[]> {
  if (place.kind === 'folder') return []
  const bucket = await openFiles(place, noStore)
  try {
    await bucket.require()
    const { wrong, lacking } = (await bucket.probe?.()) ?? { wrong: [], lacking: [] }
    const named = { bucket: bucket.place }
    return [
      wrong.length === 0 ? files.ok('bucket-right', named) : files.error('bucket-wrong', { ...named, wrong }),
      ...lacking.map(what => files.note('bucket-lacks', { ...named, lacking: what })),
    ]
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return [files.error('bucket-unavailable', { reason: error.message })]
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
    if (memory.has(kind)) yield warning('folder-in-memory', namedBy(folder))
    else if (network !== undefined && role === 'data')
      yield error('store-on-network', { path, fileSystem: network })
    else if (kind === fuse && role === 'data') yield note('store-in-user-space', { path })
    else if (network !== undefined) yield ok('folder-on-network', { ...namedBy(folder), fileSystem: network })
    else yield ok('folder-on-disk', namedBy(folder))
  }
}

const mebibyte = 1024 ** 2
const littleSpace = 1024 * mebibyte
const noSpace = 100 * mebibyte
const littleShare = 0.05

export const checkSpace: Check = function* ({ folders }) {
  for (const folder of folders) {
    const { path, free, size, inodes, freeInodes } = folder
    const level =
      free < noSpace ? 'error' : free < littleSpace || free < size * littleShare ? 'warning' : 'ok'
    yield space[level]('space-free', { ...namedBy(folder), freeBytes: free, sizeBytes: size })
    if (inodes > 0 && freeInodes < inodes * littleShare)
      yield space.warning('inodes-few', { path, free: freeInodes, inodes })
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
  const { path, size: sizeBytes } = file
  if (sizeBytes > largeLog) yield log.warning('log-large', { path, sizeBytes })
  else yield log.ok('log-size', { path, sizeBytes })
}
