import type { LogLine, Progress } from '../../model/processes.ts'
import { maxLine, maxLines, type News } from './statements.ts'

/** Lines and progress of a process that are not kept in the store yet. They are bounded like those in the store. */
export function createUnkept() {
  let lines: LogLine[] = []
  let written = 0
  let progress: Progress | null = null
  let isNew = false
  return {
    log: (text: string): void => {
      isNew = true
      if (++written > maxLines) return
      lines.push({ n: written, time: new Date().toISOString(), text: shown(text) })
    },
    progress: (to: Progress): void => {
      isNew = true
      progress = to
    },
    get hasNews(): boolean {
      return isNew
    },
    /** Takes all lines and progress. */
    take: (): News => {
      const news = { lines, progress, written }
      lines = []
      progress = null
      isNew = false
      return news
    },
    /** Puts back what was taken, if it could not be kept. */
    putBack: (news: News): void => {
      lines = [...news.lines, ...lines]
      progress ??= news.progress
      isNew = true
    },
  }
}

/** Makes one line of plain text: names of files and fields may contain anything. */
function shown(text: string): string {
  const line = text.toWellFormed().replaceAll(/\p{Cc}/gu, ' ')
  return line.length > maxLine ? `${line.slice(0, maxLine - 1).toWellFormed()}…` : line
}
