import { download } from '@carrel/client/downloads'
import { service } from '../../api.ts'
import { save } from '../../parts/save.ts'

/** The state of a download that can be stopped and resumed. */
export interface State {
  readonly done: number
  readonly total: number
  readonly running: boolean
  readonly problem?: unknown
}

export class Transfer {
  readonly #uuid: string
  readonly #show: (state: State | undefined) => void
  #pieces: Blob[] = []
  #done = 0
  #etag: string | undefined
  #stopper: AbortController | undefined

  constructor(uuid: string, show: (state: State | undefined) => void) {
    this.#uuid = uuid
    this.#show = show
  }

  /** Starts the download, or resumes it where it broke off. */
  async run(): Promise<void> {
    this.#stopper = new AbortController()
    const { signal } = this.#stopper
    let total = 0
    this.#show({ done: this.#done, total, running: true })
    try {
      const from =
        this.#etag === undefined || this.#done === 0 ? {} : { from: { bytes: this.#done, etag: this.#etag } }
      const file = await download(service.value as never, this.#uuid, { signal, ...from })
      this.#etag = file.etag
      total = file.size
      const reader = file.stream.getReader()
      let shown = 0
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        this.#pieces.push(new Blob([value]))
        this.#done += value.length
        if (performance.now() - shown > 100) {
          shown = performance.now()
          this.#show({ done: this.#done, total, running: true })
        }
        // Many pieces become one blob, which the browser may keep on disk.
        if (this.#pieces.length > 500) this.#pieces = [new Blob(this.#pieces)]
      }
      save(new Blob(this.#pieces, { type: file.type }), file.name)
      this.#forget()
      this.#show(undefined)
    } catch (problem) {
      if (signal.aborted) return
      this.#show({ done: this.#done, total, running: false, problem })
    }
  }

  stop(): void {
    this.#stopper?.abort()
    this.#forget()
    this.#show(undefined)
  }

  #forget(): void {
    this.#pieces = []
    this.#done = 0
    this.#etag = undefined
  }
}
