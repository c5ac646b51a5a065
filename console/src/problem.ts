/** Stands in for what `@carrel/client` has, until it is there. */
export class CarrelProblem extends Error {
  override readonly name = 'CarrelProblem'
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly members: Readonly<Record<string, unknown>>

  constructor(body: Readonly<Record<string, unknown>>) {
    const { status, code, title, detail, ...members } = body
    super(String(detail ?? title ?? status))
    this.status = Number(status)
    this.code = String(code ?? 'unknown')
    this.title = String(title ?? this.message)
    this.detail = this.message
    this.members = members
  }
}
export class CarrelNetworkError extends Error {
  override readonly name = 'CarrelNetworkError'
}
