import { OutOfDescriptors } from './errors.ts'

/** Meanings of errors of the operating system (errno(3)), for those that an operator can act on. */
const meanings: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EBUSY: 'it is in use',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'something of that name exists already',
  EIO: 'the disk fails',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links go in a circle',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many files are open on this machine',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  EPERM: 'permission denied',
  EPIPE: 'its reader has closed it',
  EROFS: 'the file system is read-only',
}

/**
 * @returns the message of the operating system, with its code and without a path;
 * undefined for any other error
 */
export function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  const meaning = code === undefined || syscall === undefined ? undefined : meanings[code]
  return meaning === undefined ? undefined : `${meaning} (${code})`
}

/**
 * True if the error, or one that caused it, says that this process or the machine can open no more files.
 * Starting a thread has no system call in its error, only the code in its message, and loading a module only the words.
 */
export function isOutOfDescriptors(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { cause, code, message } = error as NodeJS.ErrnoException
  return (
    error instanceof OutOfDescriptors ||
    code === 'EMFILE' ||
    code === 'ENFILE' ||
    (code === 'ERR_WORKER_INIT_FAILED' && /\bE[MN]FILE\b/.test(message)) ||
    /^Cannot read package config .*: (too many open files|file table overflow)\.$/s.test(message) ||
    isOutOfDescriptors(cause)
  )
}

/** True if the error says that a file, or a folder in its path, does not exist. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')

/** @returns the result of the work; undefined if it failed because a file was missing */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
