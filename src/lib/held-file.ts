import { type Database, openSqlite, type Unavailable } from './sqlite.ts'

/**
 * Holds a file that only one program can hold. The lock ends with the program, however it ends, and holds across
 * machines if the file system supports locks. The file stays.
 * @param unavailable makes the error if it is held, which is said at once, or can't be opened
 * @returns the database, which releases the file when it is closed
 */
export function holdFile(path: string, unavailable: Unavailable): Database {
  const held = openSqlite(path, { mode: 'write' }, unavailable)
  try {
    held.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    return held
  } catch (error) {
    held.close()
    throw error
  }
}
