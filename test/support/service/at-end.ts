import type { TestContext } from 'node:test'

const endings = new WeakMap<TestContext, (() => unknown)[]>()

/** The runner's own `after` goes first to last: folders would go before what still writes to them. This goes backwards. */
export function atEnd(t: TestContext, work: () => unknown): void {
  const known = endings.get(t)
  if (known) {
    known.push(work)
    return
  }
  const stack = [work]
  endings.set(t, stack)
  t.after(async () => {
    const failed: unknown[] = []
    // The runner keeps every test to the end, and with it what is still in here: whole services.
    for (let one = stack.pop(); one; one = stack.pop())
      try {
        await one()
      } catch (error) {
        failed.push(error)
      }
    if (failed.length > 0) throw failed[0]
  })
}
