import { brokenLine } from './problem.ts'

/**
 * Reads the lines of a response as they are requested. While the loop is busy, nothing is read, and the
 * service waits. Leaving the loop ends the transfer.
 */
export async function* linesOf(response: Response, signal?: AbortSignal): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) return
  // Pieces of an unfinished line, which are joined only once, however many there are.
  let begun: string[] = []
  let isWhole = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const lines = value.split('\n')
      for (const line of lines.slice(0, -1)) {
        const whole = begun.length === 0 ? line : begun.join('') + line
        begun = []
        yield whole
      }
      const rest = lines.at(-1)
      if (rest) begun.push(rest)
    }
    isWhole = true
    if (begun.length > 0) yield begun.join('')
  } catch (error) {
    throw brokenLine(error, 'The answer broke off', signal)
  } finally {
    if (!isWhole) await reader.cancel().catch(() => {})
  }
}
