import type { Config } from '../../config/config.ts'
import type { FilesPlace } from '../../config/files-place.ts'
import { type Client, createFairQueue, Overloaded } from '../../lib/fair-queue.ts'
import { type Followed, type Report, runInChild } from '../../lib/threads/child.ts'
import type { ExplainRequest } from '../../sso/explain.ts'

/**
 * A question that a command answers, asked by an administrator over HTTP. A process of its own answers it, as
 * the command would: some commands read for minutes without a pause, or ask servers that don't answer
 * (docs/decisions/0049).
 */
export type Question =
  | { readonly kind: 'doctor' }
  | { readonly kind: 'sso-check' }
  | { readonly kind: 'sso-explain'; readonly request: ExplainRequest }
  | { readonly kind: 'verify-trail'; readonly checkpoint: string | null }
  | { readonly kind: 'verify-backups'; readonly place: FilesPlace }

/** The job of the process that answers. */
export interface Asked {
  readonly config: Config
  readonly question: Question
}

export interface Questions {
  /**
   * Answers while a client waits.
   * @throws Refusal; Overloaded if too many are waiting, or if it takes too long
   */
  ask(question: Question, client: Client): Promise<Report>
  /** Answers within a process, which has no time limit. */
  work(question: Question, running: Followed): Promise<Report>
  close(): void
}

/** Time limit in ms of an answer: a provider has up to a minute for its metadata. */
const longest = 120_000
const maxWaiting = 10
const maxWait = 60_000

export function createQuestions(config: Config): Questions {
  const queue = createFairQueue({ max: 1, maxOfOne: 1, maxWaiting, maxWait })
  const closing = new AbortController()
  /** Answers under way by question: clients that ask the same at the same time share one. */
  const underWay = new Map<string, Promise<Report>>()

  const work: Questions['work'] = (question, running) =>
    runInChild<Asked>(
      { program: 'question-process', job: { config, question }, name: 'the process that answers' },
      running,
    )

  async function answer(question: Question): Promise<Report> {
    const tooLate = new AbortController()
    const timer = setTimeout(
      () => tooLate.abort(new Overloaded('The answer took too long. Try again, or use the command.')),
      longest,
    )
    try {
      const signal = AbortSignal.any([tooLate.signal, closing.signal])
      return await work(question, { signal, progress: () => {} })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    ask: (question, client) => {
      const key = JSON.stringify(question)
      const same = underWay.get(key)
      if (same) return same
      const answered = queue.run(client, () => answer(question)).finally(() => underWay.delete(key))
      underWay.set(key, answered)
      return answered
    },
    work,
    close: () => closing.abort(new Overloaded('The service is stopping.')),
  }
}
