import { levels, originOf } from '../http/log.ts'
import { systemReason } from '../lib/system-errors.ts'

/**
 * Ends the process, with one line that says so, when its output can't be written: the reader has gone
 * (`| head`), or the disk is full. Work that a command has done by then stays done.
 */
export function endWithOutput(): void {
  process.stdout.on('error', error => {
    process.stderr.write(
      `carrel: standard output can't be written: ${systemReason(error) ?? error.message}\n`,
    )
    process.exit(1)
  })
  // No stream is left to say it.
  process.stderr.on('error', () => {})
}

/** Writes one line to standard output. */
export const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

/**
 * Announces an event at the start of a service: a sentence on a terminal, otherwise a line of JSON like those
 * of its log.
 * @param event `msg`, and further members of the line
 */
export function announce(
  level: 'info' | 'warn' | 'error',
  sentence: string,
  event: { readonly msg: string } & Readonly<Record<string, string | number | object>>,
): void {
  if (process.stdout.isTTY) {
    say(sentence)
    return
  }
  const { msg, ...members } = event
  say(JSON.stringify({ ...originOf(levels[level]), ...members, msg }))
}

/** Formats rows under headings. Columns are as wide as their content, and numbers are right-aligned. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [headings, ...rows].map(row => row.map(cell => printable(String(cell))))
  const widths = headings.map((_, at) => Math.max(...cells.map(row => row[at]?.length ?? 0)))
  const isNumber = headings.map((_, at) => rows.length > 0 && rows.every(row => typeof row[at] === 'number'))
  return cells
    .map(row =>
      row
        .map((cell, at) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Replaces characters of names that could move the cursor or reverse the line. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, '\uFFFD')

/** The cells of rows by the headings of their columns. */
type Columns<T> = Readonly<Record<string, (row: T) => string | number>>

/** Formats a list as a table. */
export const tableOf = <T>(list: readonly T[], columns: Columns<T>): string =>
  table(
    Object.keys(columns),
    list.map(row => Object.values(columns).map(cell => cell(row))),
  )

/** Writes a list, as JSON or as a table. */
export const sayTable = <T>(json: boolean | undefined, list: readonly T[], columns: Columns<T>): void =>
  say(json ? JSON.stringify(list, null, 2) : tableOf(list, columns))

/** Writes the result of a command, as JSON or in words. */
export const sayResult = (json: boolean | undefined, result: object, words: string): void =>
  say(json ? JSON.stringify(result, null, 2) : words)

/** The option of every command that prints a result. */
export const jsonOption = ['--json', 'print the result as JSON'] as const

export interface Json {
  readonly json?: boolean
}
